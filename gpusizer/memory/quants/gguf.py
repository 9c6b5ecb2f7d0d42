"""GGUF: the block type that llama.cpp gives each tensor under a recipe, and its bytes.

data/gguf_conversion.csv has what its converter drops, doubles or widens by kind of model;
block sizes are those of `gpusizer.core.dtypes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.hub.tensors import Indices
from gpusizer.memory.quants.layouts import (
    FUSED_GATE,
    QUANTIZED_PARTS,
    ModelShape,
    feed_forward_rank,
    kept_bytes,
    sides,
)
from gpusizer.memory.quants.publishers import IMPORTANCE_MATRIX, NO_TIED_HEAD, PublisherRule
from gpusizer.memory.quants.recipes import Place, Recipe
from gpusizer.model.architecture import Architecture
from gpusizer.model.tensor_roles import Kind, Part, Slot, is_layer_table
from gpusizer.model.weights import WeightGroup

# A row that is not a multiple of 256 falls back to a type with blocks of 32, then to F16.
_FALLBACK = {
    **dict.fromkeys(
        ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"), "IQ4_NL"
    ),
    **dict.fromkeys(("Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}
_LAYERS_70B = 80  # llama.cpp calls an 80-layer model "70B" and widens its shared attn_v
_EIGHT = 8  # Mixtral-like models have so few attention weights that llama.cpp spares them
_SIXTEEN_BITS = ("F16", "F32")  # recipes that quantize nothing
# Suffix of experts that gpt-oss was released with in MXFP4; every recipe keeps them so.
RELEASED_BLOCKS = "_blocks"
# An embedding inside a layer is that of a draft layer.
_MATRICES = (Kind.LINEAR, Kind.EXPERT, Kind.EMBEDDING, Kind.OUTPUT)
# attn_qkv is treated like attn_v; a fused gate and up is split by the converter.
_ALIKE = {Slot.QKV: Slot.V, Slot.GATE_UP: Slot.UP}
# Text, score and type of each token, and merges: 23-25 bytes with SentencePiece, which has no
# merges, 35-40 with byte-pair encoding, 44 in Qwen3.5, whose text is less often ASCII, 61-65 in
# Llama 3 and o200k (gpt-oss), whose merges outnumber their tokens.
_HEADER_BYTES = {"sentencepiece": 24, "bpe": 39, "large bpe": 44, "tiktoken": 61}
_SENTENCEPIECE_TOKENS = 33_000  # Llama 2, Mistral, Phi-3; Gemma is larger and says its name
_TIKTOKEN_TOKENS = (range(128_000, 128_512), range(199_998, 201_089))
_LARGE_TOKENS = 240_000
# Small matrices of Gemma 3n that the quantizer passes over, by the parts of names it looks for.
_KEPT = re.compile(r"altup|laurel|per_layer_model_proj")


@dataclass(frozen=True, slots=True)
class Gguf:
    """A GGUF file of one recipe, and beside it the 16-bit file of a projector (mmproj)."""

    recipe: Recipe
    rules: tuple[PublisherRule, ...] = ()  # its publisher's deviations for single tensors
    habits: frozenset[str] = frozenset()  # its publisher's deviations for whole files
    # Factor on the recipe's bytes, for a mix that follows no rule (`dynamic.py`).
    share: float = 1.0

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        """Return bytes of all tensors of `group`, in memory as in the file."""
        amount = self._by_rule(group, model)
        return amount if group.part not in QUANTIZED_PARTS else round(amount * self.share)

    def _by_rule(self, group: WeightGroup, model: ModelShape) -> int:
        if model.importance_matrix is None and IMPORTANCE_MATRIX in self.habits:
            model = replace(model, importance_matrix=True)
        if group.part is Part.MTP and not model.keeps_drafts:
            return 0
        if group.duplicate and group.kind is Kind.OUTPUT and self._writes_both(model):
            return group.count * tensor_bytes(group, self._output(group, model))
        if not group.parameters:
            return 0
        if group.part not in QUANTIZED_PARTS:
            return _tower_bytes(group)
        for rule in self.rules:
            if kind := rule.type_of(group, model, self.recipe.base):
                return group.count * tensor_bytes(group, kind)
        if group.kind in (Kind.EMBEDDING, Kind.OUTPUT) and group.layers is None:
            return self._table_bytes(group, model)
        return self._matrix_bytes(group, model)

    def _table_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        """Return bytes of the embedding or the head; a tied matrix follows the head's rules."""
        narrow = self.recipe.embedding or self.recipe.base
        if group.kind is Kind.OUTPUT:
            return group.count * tensor_bytes(group, self._output(group, model))
        # The table of one row a layer beside a tied embedding follows them too: llama-quant.cpp
        # puts both in one category since PR 19770.
        per_layer = is_layer_table(group.pattern)
        if not model.tied_embeddings or (per_layer and model.narrow_layer_table):
            return group.count * tensor_bytes(group, narrow)
        amount = group.count * tensor_bytes(group, self._output(group, model))
        if per_layer or not self._writes_both(model):
            return amount
        embedding = group.count * tensor_bytes(group, narrow)
        return embedding if model.stores_head else amount + embedding

    def _writes_both(self, model: ModelShape) -> bool:
        # llama.cpp's converter writes every tensor that a checkpoint stores, a tied head too,
        # unless the class of the model skips it (conversion/base.py has no such rule).
        if model.doubles_head:
            return True
        return model.stores_head and not (model.drops_head or NO_TIED_HEAD in self.habits)

    def _output(self, group: WeightGroup, model: ModelShape) -> str:
        recipe = self.recipe
        if recipe.base in _SIXTEEN_BITS:
            return recipe.base
        # The head is Q8_0 if rows do not fill the recipe's blocks, in Falcon, and after training
        # for Q4_0.
        odd = group.shape[-1] % GGML_BLOCKS[recipe.base][0]
        trained = model.trained_for_q4_0 and recipe.base == "Q4_0"
        return "Q8_0" if odd or trained or model.wide_head else recipe.output

    def _matrix_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        if group.kind not in _MATRICES:
            return group.parameters * GGML_BLOCKS["F32"][1]
        if _KEPT.search(group.pattern):
            return kept_bytes(group)
        if group.pattern.endswith(RELEASED_BLOCKS):
            return group.count * tensor_bytes(group, "MXFP4")
        if group.kind is Kind.EXPERT and self.recipe.experts:
            return group.count * tensor_bytes(group, self.recipe.experts)
        if group.slot is Slot.KV_B and model.latent_key_dim:
            return group.count * self._latent_bytes(group, model)
        if group.pattern.endswith(FUSED_GATE) and model.gate_rows:
            return sum(self._matrix_bytes(part, model) for part in _without_gate(group, model))
        if group.slot is Slot.QKV and model.early_qkv:
            kind = self.recipe.early_qkv or self.recipe.base
            return group.count * tensor_bytes(group, kind)
        slot = _ALIKE.get(group.slot, group.slot)
        if slot not in self.recipe.exceptions and model.experts != _EIGHT:
            return group.count * tensor_bytes(group, self.recipe.base)
        layers = group.layers or (model.layers // 2,)
        if group.part is Part.MTP and layers[0] < model.layers:
            layers = tuple(model.layers + number for number in layers)  # as the converter numbers
        per_layer, rank = group.count // len(layers), feed_forward_rank(group)
        counts = _types_in(self.recipe, slot, model, rank, layers)
        return sum(per_layer * count * tensor_bytes(group, kind) for kind, count in counts.items())

    def _latent_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        # attn_k_b, transposed to rows of one head's key width, and attn_v_b. Both have three sides,
        # which mark experts in MXFP4_MOE for llama-quant.cpp.
        rows, row = sides(group)
        keys = model.latent_key_dim * model.attention_heads
        flat = keys * row // model.latent_key_dim, model.latent_key_dim
        kind = self.recipe.experts or self.recipe.base
        return block_bytes(*flat, kind) + block_bytes(rows - keys, row, kind)


@lru_cache(maxsize=512)
def _types_in(
    recipe: Recipe, slot: Slot, model: ModelShape, rank: int, layers: Indices
) -> Mapping[str, int]:
    return Counter(_type(recipe, slot, Place(layer, model, rank)) for layer in layers)


def _type(recipe: Recipe, slot: Slot, place: Place) -> str:
    model, kind = place.model, recipe.base
    if kind in _SIXTEEN_BITS:
        return kind
    if model.experts == _EIGHT and slot in (Slot.K, Slot.V):
        return recipe.eight_k[slot is Slot.V]
    if model.experts == _EIGHT and slot is Slot.O:
        return recipe.eight_o or kind
    exceptions = recipe.exceptions | recipe.falcon if model.wide_head else recipe.exceptions
    for condition, chosen in exceptions.get(slot, ()):
        if condition(place):
            kind = chosen
            break
    widened = slot is Slot.V and model.layers == _LAYERS_70B
    return "Q5_K" if widened and kind in ("Q3_K", "Q4_K") else kind


def _tower_bytes(group: WeightGroup) -> int:
    """Return bytes of a projector's tensors, F16 but for vectors."""
    # conversion/base.py, prepare_tensors
    return group.parameters * 4 if len(group.shape) == 1 else kept_bytes(group)


def _without_gate(group: WeightGroup, model: ModelShape) -> tuple[WeightGroup, WeightGroup]:
    # attn_qkv and attn_gate of a matrix that holds both
    rows, row = sides(group)
    gate = replace(group, pattern="z", slot=Slot.OTHER, shape=(model.gate_rows, row))
    return replace(group, pattern="qkv", shape=(rows - model.gate_rows, row)), gate


def header_bytes(architecture: Architecture | None) -> int:
    """Return bytes of a file outside tensors, nearly all of them the vocabulary's."""
    if architecture is None or not architecture.vocab_size:
        return 0
    tokens = architecture.vocab_size
    kind = "large bpe" if tokens > _LARGE_TOKENS else "bpe"
    if any(tokens in vocabulary for vocabulary in _TIKTOKEN_TOKENS):
        kind = "tiktoken"
    if tokens < _SENTENCEPIECE_TOKENS or architecture.model_type.startswith("gemma"):
        kind = "sentencepiece"
    return tokens * _HEADER_BYTES[kind]


def tensor_bytes(group: WeightGroup, ggml_type: str) -> int:
    """Return bytes of one tensor in a ggml type, after fallbacks for odd row lengths."""
    return block_bytes(*sides(group), ggml_type)


def block_bytes(rows: int, row: int, ggml_type: str) -> int:
    """Return bytes of `rows` rows of `row` values in a ggml type or its fallback."""
    if row % GGML_BLOCKS[ggml_type][0]:
        ggml_type = _FALLBACK.get(ggml_type, "F16")
        if row % GGML_BLOCKS[ggml_type][0]:
            ggml_type = "F16"
    block, size = GGML_BLOCKS[ggml_type]
    return rows * (row // block) * size
