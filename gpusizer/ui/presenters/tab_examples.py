"""Examples with which the empty tabs open: names of links, and the addresses that these lead to.

Names are those of models and GPUs, the same in every language.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusizer.core.tables import toml_of

_TABLES = toml_of(__file__)

Examples = Mapping[str, Mapping[str, str]]
"""By what a link says: the parameters of an address that is answered at one click."""


def comparisons(model: str = "") -> Examples:
    """Return comparisons for a model: of desktop cards, of servers' cards, of one-box machines."""
    about = {"tab": "compare", "model": model or _TABLES["compared_model"]}
    return {name: {**about, "gpus": gpus} for name, gpus in _TABLES["compared"].items()}


TRAININGS: Examples = _TABLES["trainings"]
MACHINES: Examples = _TABLES["machines"]
