"""Reasons, purposes and filters: the words of choosing a GPU, in three languages."""

from gpusizer.text.buying.en import STRINGS as EN
from gpusizer.text.buying.pt import STRINGS as PT
from gpusizer.text.buying.zh import STRINGS as ZH

__all__ = ["EN", "PT", "ZH"]
