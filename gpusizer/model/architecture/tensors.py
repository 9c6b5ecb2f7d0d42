"""Facts of an architecture from tensor shapes alone."""

from __future__ import annotations

from collections.abc import Iterable

from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup

_TOWERS = frozenset({Part.VISION, Part.AUDIO, Part.PROJECTOR, Part.ADAPTER})


def text_matrices(groups: Iterable[WeightGroup], kind: Kind) -> list[WeightGroup]:
    """Return the two-dimensional tensors of one kind in the text decoder."""
    return [g for g in groups if g.part is Part.TEXT and g.kind is kind and len(g.shape) == 2]


def layer_count(groups: Iterable[WeightGroup]) -> int | None:
    """Return one more than the highest layer number of the text decoder."""
    highest = [g.layers[-1] for g in groups if g.part is Part.TEXT and g.layers]
    return max(highest) + 1 if highest else None


def stored_layers(groups: Iterable[WeightGroup]) -> int | None:
    """Return the layers of the deepest stack outside towers plus draft layers, or None."""
    stacks = drafts = 0
    for group in groups:
        if group.layers and group.part is Part.MTP:
            drafts = max(drafts, len(group.layers))
        elif group.layers and group.part not in _TOWERS:
            stacks = max(stacks, group.layers[-1] + 1)
    return stacks + drafts if stacks else None


def embedding_shape(groups: Iterable[WeightGroup]) -> tuple[int, int] | None:
    """Return (vocabulary, width) of the largest token embedding."""
    embeddings = text_matrices(groups, Kind.EMBEDDING)
    if not embeddings:
        return None
    vocab, width = max(embeddings, key=lambda g: g.elements).shape
    return vocab, width


def feed_forward_width(groups: Iterable[WeightGroup]) -> int | None:
    """Return the outputs of the widest gate or up projection."""
    groups = tuple(groups)
    embedding = embedding_shape(groups)
    widths = [
        # GPT-2 stores [in, out]: there the first side is the model's own width.
        g.shape[1] if embedding and g.shape[0] == embedding[1] else g.shape[0]
        for g in text_matrices(groups, Kind.LINEAR)
        if g.slot in (Slot.GATE, Slot.UP)
    ]
    return max(widths) if widths else None


def expert_count(groups: Iterable[WeightGroup]) -> int | None:
    """Return the routed experts of a MoE layer, from the router's rows."""
    rows = [g.shape[0] for g in text_matrices(groups, Kind.ROUTER) if g.shape[0] > 1]
    return max(rows) if rows else None


def expert_width(groups: Iterable[WeightGroup], hidden: int | None) -> int | None:
    """Return the inner width of a routed expert: the side of its output matrix unlike `hidden`."""
    for group in groups:
        if group.part is Part.TEXT and group.kind is Kind.EXPERT and group.slot is Slot.DOWN:
            sides = group.shape[-2:]
            return next((side for side in sides if side != hidden), sides[-1])
    return None
