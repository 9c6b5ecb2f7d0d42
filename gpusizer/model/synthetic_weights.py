"""Synthetic weight groups of models with known total sizes only."""

# Pickles and gated files show no tensors. Quantizations and engines need only the parameters of the
# embedding, those of the layers, and the length of a row, which the configuration states. Without
# one, all parameters count as one matrix of the layers.

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from gpusizer.core.dtypes import DTYPE_BITS
from gpusizer.hub.snapshot import Totals
from gpusizer.model.architecture import Architecture
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup

_COLUMNS = 4096

# Name, kind, shape of one tensor, number of tensors, layers.
Shaped = tuple[str, Kind, tuple[int, ...], int, tuple[int, ...] | None]


def estimated_groups(
    component: str, totals: Totals, architecture: Architecture | None
) -> tuple[WeightGroup, ...]:
    """Return groups whose parameters and bytes add up exactly to the totals."""
    # Bytes are divided among dtypes by parameters times width. The embedding and the head belong to
    # the most common dtype.
    names = sorted(totals.parameters, key=lambda name: -totals.parameters[name])
    groups: list[WeightGroup] = []
    for name in names:
        count = totals.parameters[name]
        shaped = _layout(count, None if groups else architecture)
        groups += [_group(component, name, part) for part in shaped]
    return _with_bytes(groups, totals)


def _layout(parameters: int, architecture: Architecture | None) -> Iterator[Shaped]:
    layers, columns, remaining_parameters = 1, min(_COLUMNS, parameters), parameters
    if architecture is not None and architecture.hidden_size:
        layers, columns = architecture.layers, architecture.hidden_size
        table = (architecture.vocab_size or 0) * columns
        matrices = 1 if architecture.tied_embeddings else 2
        if table and matrices * table < parameters:
            remaining_parameters -= matrices * table
            shape = (architecture.vocab_size or 0, columns)
            yield "embed_tokens.weight", Kind.EMBEDDING, shape, 1, None
            if matrices == 2:
                yield "lm_head.weight", Kind.OUTPUT, shape, 1, None
    rows = remaining_parameters // (layers * columns) if columns else 0
    if rows:
        inside = tuple(range(layers))
        yield "layers.{}.weight", Kind.LINEAR, (rows, columns), layers, inside
    vector_parameters = remaining_parameters - rows * layers * columns
    if vector_parameters:
        yield "rest", Kind.VECTOR, (vector_parameters,), 1, None


def _group(component: str, dtype: str, shaped: Shaped) -> WeightGroup:
    pattern, kind, shape, count, layers = shaped
    return WeightGroup(
        component, pattern, dtype, shape, count, Part.TEXT, kind, Slot.OTHER, layers, 0
    )


def _with_bytes(groups: list[WeightGroup], totals: Totals) -> tuple[WeightGroup, ...]:
    # divided by parameters times width; rounding goes to the first group
    weights = [math.prod(g.shape) * g.count * DTYPE_BITS[g.dtype] for g in groups]
    total_weight = sum(weights) or 1
    shares = [totals.weight_bytes * weight // total_weight for weight in weights]
    if shares:
        shares[0] += totals.weight_bytes - sum(shares)
    return tuple(replace(g, stored_bytes=share) for g, share in zip(groups, shares, strict=True))
