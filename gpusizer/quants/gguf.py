"""GGUF recipes: which block type llama.cpp gives each tensor, and what that takes.

Rules re-stated from llama.cpp's src/llama-quant.cpp (llama_tensor_get_type_impl, 2025-2026);
block sizes are those of `gpusizer.dtypes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpusizer.dtypes import GGML_BLOCKS
from gpusizer.quants.layouts import (
    QUANTIZED_PARTS,
    ModelShape,
    is_block_linear,
    kept_bytes,
    sides,
)
from gpusizer.roles import Kind, Part, Slot
from gpusizer.weights import WeightGroup

# A row that is not a multiple of 256 falls back to a type with blocks of 32, then to F16.
_FALLBACK = {
    "IQ4_XS": "IQ4_NL", "Q2_K": "Q4_0", "Q3_K": "Q4_0",
    "Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0",
}  # fmt: skip
_LAYERS_70B = 80  # llama.cpp calls an 80-layer model "70B" and widens its shared attn_v


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor stands: its layer number and the model around it."""

    layer: int
    model: ModelShape


Condition = Callable[[Place], bool]


def always(place: Place) -> bool:
    return True


def more_bits(place: Place) -> bool:
    """First and last eighth of the layers, and every third between (use_more_bits)."""
    i, n = place.layer, place.model.layers
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def shared_kv(place: Place) -> bool:
    """At least four query heads use each value head, so its extra bits cost little."""
    return place.model.heads_per_kv_head >= 4


def first(divisor: int) -> Condition:
    """The first n/divisor layers."""
    return lambda place: place.layer < place.model.layers // divisor


def first_layers(count: int) -> Condition:
    """The first `count` layers."""
    return lambda place: place.layer < count


Choices = tuple[tuple[Condition, str], ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A base type and the exceptions to it: the first condition that holds decides.

    `experts` is the type of routed experts where it differs from all other matrices'.
    """

    base: str
    output: str = "Q6_K"
    experts: str | None = None
    attn_v: Choices = ()
    ffn_down: Choices = ()
    attn_output: Choices = ()


RECIPES: dict[str, Recipe] = {
    "q8_0": Recipe("Q8_0", output="Q8_0"),
    "q6_k": Recipe("Q6_K"),
    "q5_k_m": Recipe("Q5_K", attn_v=((more_bits, "Q6_K"),), ffn_down=((more_bits, "Q6_K"),)),
    "q5_k_s": Recipe("Q5_K"),
    "q4_k_m": Recipe("Q4_K", attn_v=((more_bits, "Q6_K"),), ffn_down=((more_bits, "Q6_K"),)),
    "mxfp4_moe": Recipe("Q8_0", output="Q8_0", experts="MXFP4"),
    "q4_k_s": Recipe(
        "Q4_K", attn_v=((first_layers(4), "Q5_K"),), ffn_down=((first(8), "Q5_K"),)
    ),
    "q4_0": Recipe("Q4_0"),
    # Published IQ4_XS files are made with an importance matrix, which drops the ffn_down exception.
    "iq4_xs": Recipe("IQ4_XS", attn_v=((shared_kv, "Q5_K"),)),
    "q3_k_m": Recipe(
        "Q3_K",
        attn_v=((first_layers(2), "Q5_K"), (always, "Q4_K")),
        ffn_down=((first(16), "Q5_K"), (always, "Q4_K")),
        attn_output=((always, "Q4_K"),),
    ),
    "q2_k": Recipe(
        "Q2_K",
        attn_v=((shared_kv, "Q4_K"), (always, "Q3_K")),
        ffn_down=((always, "Q3_K"),),
        attn_output=((always, "Q3_K"),),
    ),
}  # fmt: skip

_CHOICES: dict[Slot, str] = {
    Slot.V: "attn_v",
    Slot.QKV: "attn_v",
    Slot.KV_B: "attn_v",
    Slot.DOWN: "ffn_down",
    Slot.O: "attn_output",
}
# Mixtral-like models have so few attention weights that llama.cpp spares them.
_EIGHT_EXPERTS: dict[Slot, str] = {
    Slot.K: "Q8_0", Slot.V: "Q8_0", Slot.QKV: "Q8_0", Slot.KV_B: "Q8_0", Slot.O: "Q5_K",
}  # fmt: skip
_WIDENS_OUTPUT = frozenset({"Q2_K", "Q3_K", "Q4_K", "IQ4_XS"})  # Q4_0 and wider keep their own


@dataclass(frozen=True, slots=True)
class Gguf:
    """A GGUF file of one recipe. Vision towers are a separate 16-bit file (mmproj)."""

    recipe: Recipe

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        if group.part is Part.MTP or not group.parameters:
            return 0  # draft layers are dropped by the converter
        if group.part not in QUANTIZED_PARTS:
            return kept_bytes(group)
        if group.kind is Kind.OUTPUT or (group.kind is Kind.EMBEDDING and model.tied_embeddings):
            return group.count * tensor_bytes(group, _output_type(self.recipe, group))
        if group.kind is Kind.EMBEDDING:
            return group.count * tensor_bytes(group, self.recipe.base)
        if not is_block_linear(group) or group.layers is None:
            return group.parameters * GGML_BLOCKS["F32"][1]
        if group.pattern.endswith("_blocks"):
            return group.count * tensor_bytes(group, "MXFP4")  # gpt-oss experts stay as released
        if group.kind is Kind.EXPERT and self.recipe.experts is not None:
            return group.count * tensor_bytes(group, self.recipe.experts)
        per_layer = group.count // len(group.layers)
        return sum(
            per_layer * tensor_bytes(group, self._type(group.slot, Place(layer, model)))
            for layer in group.layers
        )

    def _type(self, slot: Slot, place: Place) -> str:
        kind = self.recipe.base
        if place.model.experts == 8 and slot in _EIGHT_EXPERTS:
            spared = slot is not Slot.O or kind in _WIDENS_OUTPUT
            return _EIGHT_EXPERTS[slot] if spared else kind
        name = _CHOICES.get(slot)
        choices: Choices = getattr(self.recipe, name) if name else ()
        for condition, chosen in choices:
            if condition(place):
                kind = chosen
                break
        widened = slot is Slot.V and place.model.layers == _LAYERS_70B
        return "Q5_K" if widened and kind in ("Q3_K", "Q4_K") else kind


def _output_type(recipe: Recipe, group: WeightGroup) -> str:
    """A head whose rows do not fill blocks of 256 becomes Q8_0."""
    return recipe.output if group.shape[-1] % GGML_BLOCKS[recipe.output][0] == 0 else "Q8_0"


def tensor_bytes(group: WeightGroup, ggml_type: str) -> int:
    """Bytes of one tensor in a ggml type, after the fallbacks for odd row lengths."""
    rows, row = sides(group)
    if row % GGML_BLOCKS[ggml_type][0]:
        ggml_type = _FALLBACK.get(ggml_type, "F16")
        if row % GGML_BLOCKS[ggml_type][0]:
            ggml_type = "F16"
    block, block_bytes = GGML_BLOCKS[ggml_type]
    return rows * (row // block) * block_bytes
