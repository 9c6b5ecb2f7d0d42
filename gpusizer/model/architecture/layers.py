"""The kind of cache of each layer, from its configuration and its tensors."""

# Conventions of the configuration come first (`conventions.py`). Tensors decide if none applies,
# and add states that the configuration does not mention.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.conventions import CONVENTIONS, Kinds
from gpusizer.model.architecture.layer_readers import CACHELESS, FULL, RECURRENT
from gpusizer.model.architecture.layer_source import LayerKind
from gpusizer.model.architecture.stack import LayerStack


def layer_kinds(view: ConfigView, layers: int, stack: LayerStack) -> Kinds:
    """Return one kind for each of `layers` layers."""
    for convention in CONVENTIONS:
        kinds = convention(view, layers)
        if kinds is not None:
            break
    else:
        kinds = [replace(FULL, known=False)] * layers
    voted = [_voted(kind, layer, stack) for layer, kind in enumerate(kinds)]
    return _without_shared(view, voted)


def _voted(kind: LayerKind, layer: int, stack: LayerStack) -> LayerKind:
    remembers = stack.remembers(layer)
    if not kind.known and remembers and layer not in stack.attentions:
        return replace(RECURRENT, name=kind.name, known=False)
    if remembers and kind.attends:
        return replace(kind, state=True)
    return kind


def _without_shared(view: ConfigView, kinds: Kinds) -> Kinds:
    # Gemma 3n and 4: the last layers reuse the cache of earlier ones. `kv_source_layers` (Mistral
    # Large 4) names for each layer the one whose cache it reads.
    shared = view.number("num_kv_shared_layers") or 0
    keep = max(0, len(kinds) - shared)
    kinds = kinds[:keep] + [CACHELESS] * (len(kinds) - keep)
    sources = view.sequence("kv_source_layers") or []
    for layer, source in enumerate(sources[: len(kinds)]):
        if isinstance(source, int) and source != layer:
            kinds[layer] = CACHELESS
    return kinds


def unknown_names(kinds: Iterable[LayerKind]) -> dict[str, int]:
    """Return the names of unknown kinds and the number of layers of each."""
    counts: dict[str, int] = {}
    for kind in kinds:
        if kind.name and not kind.known:
            counts[kind.name] = counts.get(kind.name, 0) + 1
    return counts
