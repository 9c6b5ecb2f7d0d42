"""Rows of weights and models that recipes of llama.cpp quantize, for tests."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from gpusizer.memory.model_shape import model_shape
from gpusizer.memory.quants import ModelShape
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup
from tests.builders import llama

DENSE = ModelShape(layers=32, heads_per_kv_head=4, experts=0, tied_embeddings=False)
ROW = 256  # one block of a K-quant


@cache
def llama_8b() -> ModelProfile:
    return build_profile(llama())


def block_row(slot: Slot, layer: int = 10, **overrides: Any) -> WeightGroup:
    """One row of one block in one layer, so that its bytes name its type."""
    base = WeightGroup(
        "model",
        "model.layers.{}.x.weight",
        "BF16",
        (1, ROW),
        1,
        Part.TEXT,
        Kind.LINEAR,
        slot,
        (layer,),
        2 * ROW,
    )
    return replace(base, **overrides)


def tied(profile: ModelProfile, **facts: Any) -> ModelShape:
    return replace(model_shape(profile), tied_embeddings=True, **facts)
