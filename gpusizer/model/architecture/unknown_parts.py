"""Unknown parts: unread facts of an architecture that memory or speed depends on."""

# A key of a configuration counts as known if a reader looks it up, or if an architecture has it
# whose cache and active parameters were compared with those of its class (`unknown_parts.toml`).

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpusizer.core.tables import toml_of
from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.model import LayerRun
from gpusizer.model.tensor_roles import Kind
from gpusizer.model.weights import WeightGroup

_KEYS: dict[str, list[str]] = toml_of(__file__)["keys"]
_TELLING, _HARMLESS = frozenset(_KEYS["telling"]), frozenset(_KEYS["harmless"])
_COMPARED = frozenset(_KEYS["compared"])
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,59}")
_BETWEEN_WORDS = re.compile(r"[_\d]+")
_WIDEST_KERNEL = 16  # of a convolution, which has three sides as well
_MOST_KEYS = 6  # named of those that are not known
# the task of the model is unknown: assumed to write text, or to write none
PURPOSE, SILENT = "purpose", "purpose: none"
# layers keep a state whose size no reader has
STATE = "recurrent state"


def unknown_keys(config: ConfigView) -> tuple[str, ...]:
    """Return unread keys whose words concern a layer's memory or routing."""
    unread = (key for key, value in config.text.items() if value not in (None, False, [], {}))
    return tuple(key for key in unread if key not in config.asked and _is_telling(key))


def _is_telling(key: str) -> bool:
    if key in _COMPARED or not _KEY.fullmatch(key):
        return False
    words = frozenset(_BETWEEN_WORDS.split(key.lower()))
    return bool(words & _TELLING) and not words & _HARMLESS


def doubts_of(
    config: ConfigView,
    plan: Sequence[LayerRun],
    experts: tuple[int | None, int | None],
    groups: Sequence[WeightGroup],
) -> Iterator[str]:
    """Yield unknown parts of a model that writes; `experts` are those of a layer and of a token."""
    layers = sum(run.count for run in plan)
    stateless = sum(run.count for run in plan if run.layer.misses_size)
    if stateless:
        yield f"{stateless} of {layers} layers: {STATE}"
    routed, chosen = experts
    if (routed or 0) > 1 and groups and (chosen is None or _hides_experts(groups, routed)):
        yield f"experts: {routed}"
    if keys := unknown_keys(config):
        yield f"keys: {', '.join(keys[:_MOST_KEYS])}"


def _hides_experts(groups: Sequence[WeightGroup], routed: int | None) -> bool:
    # Routed experts cannot be identified: no matrix is marked, or a stack of as many others exists.
    if not any(group.kind is Kind.EXPERT for group in groups):
        return True
    others = (group.shape for group in groups if group.kind in (Kind.LINEAR, Kind.CONV))
    stacked = (shape for shape in others if len(shape) == 3 and min(shape[1:]) > _WIDEST_KERNEL)
    return any(shape[0] == routed for shape in stacked)
