"""Why something that people call a GPU is not in the catalogue: it is none, is not sold yet, or its
figures are not published.
"""

from __future__ import annotations

import re
import unicodedata

from gpusizer.core.tables import toml_of

_WHY = {why: re.compile(rf"\b(?:{'|'.join(names)})\b") for why, names in toml_of(__file__).items()}
REASONS = tuple(_WHY)
"""Reasons of UnknownGpu, beside none."""
GPUS = ("unreleased", "unpublished")
"""Reasons of what is a GPU, so that others may stand in its place."""


def why_unlisted(text: str) -> str:
    """The reason, one of `REASONS`, for a name of this list; "" for any other.

    >>> why_unlisted("Cerebras CS-3"), why_unlisted("RTX 5080 SUPER"), why_unlisted("RTX 4090")
    ('accelerator', 'unreleased', '')
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = " ".join(re.sub(r"[^\w]|_", " ", plain).split())
    return next((why for why, names in _WHY.items() if names.search(plain)), "")
