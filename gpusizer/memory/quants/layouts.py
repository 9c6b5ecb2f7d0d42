"""Layouts: how each quantization stores a tensor, one class each behind one interface.

A layout answers one question, `group_bytes`: how many bytes all tensors of a group take,
scales, zero points and block padding included. Tensors a quantizer leaves alone (norms,
embeddings, the output head, routers, vision towers) stay 16-bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gpusizer.model.tensor_roles import Kind, Part, is_shared_expert
from gpusizer.model.weights import WeightGroup

_KEPT_BYTES = 2  # 16-bit
# Towers stay as they are; the encoder of T5 or BERT is as much text as a decoder.
QUANTIZED_PARTS = (Part.TEXT, Part.ENCODER, Part.MTP)
FUSED_GATE = "linear_attn.in_proj_qkvz.weight"  # Qwen3-Next's attn_qkv and attn_gate in one
_BNB_STATE_BYTES = 172  # JSON blob that bitsandbytes stores beside each 4-bit matrix


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Facts of a model that the type of a tensor may depend on, beside the tensor itself."""

    layers: int  # layers of the text decoder
    heads_per_kv_head: int  # query heads that share a key/value head
    experts: int  # routed experts per layer, 0 for a dense model
    tied_embeddings: bool  # the embedding is also the output head
    # attention_heads, latent_key_dim: heads, and key width of one without its rotary part, if
    # attention compresses keys and values to a latent; else 0.
    attention_heads: int = 0
    latent_key_dim: int = 0
    # GGUF files of this kind of model hold its multi-token-prediction layers.
    keeps_drafts: bool = False
    doubles_head: bool = False  # GGUF files hold a tied matrix twice, as embedding and as head
    stores_head: bool = False  # the checkpoint holds a tied matrix twice
    # llama.cpp's converter leaves out a tied head that the checkpoint stores.
    drops_head: bool = False
    wide_head: bool = False  # the output head of GGUF files is Q8_0 under every recipe
    narrow_layer_table: bool = False  # their table of one row a layer has the recipe's base type
    # Trained to be quantized so; its embedding is published as Q8_0.
    trained_for_q4_0: bool = False
    early_qkv: bool = False  # files are older than the llama.cpp that treats attn_qkv as attn_v
    gate_rows: int = 0  # rows of in_proj_qkvz that the converter writes as a matrix of their own
    # Layers with an ffn_down, with an ffn_down_exps and with an ffn_down_shexp, the order in which
    # llama.cpp counts them within a layer; sorted.
    down_layers: tuple[tuple[int, ...], ...] = field(default=(), hash=False)
    # Whether the file is quantized with one; None if unknown.
    importance_matrix: bool | None = None
    # Name in the configuration, or its equivalent for a GGUF file; "" for none.
    model_type: str = ""


class Layout(Protocol):
    """One way to store weights."""

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        """Return bytes of all tensors of `group` in this layout."""
        ...


def is_block_linear(group: WeightGroup) -> bool:
    """Return whether it is a linear or expert of a layer, which every quantizer quantizes."""
    return (
        group.kind in (Kind.LINEAR, Kind.EXPERT)
        and group.part in QUANTIZED_PARTS
        and group.layers is not None
    )


def runs_for_every_token(group: WeightGroup) -> bool:
    """Return whether it is a matrix of an expert that runs for every token."""
    return group.kind is Kind.LINEAR and is_shared_expert(group.pattern)


def feed_forward_rank(group: WeightGroup) -> int:
    """Return 0 for a plain feed-forward matrix, 1 for routed experts' and 2 for shared ones'."""
    return 1 if group.kind is Kind.EXPERT else 2 * runs_for_every_token(group)


def sides(group: WeightGroup) -> tuple[int, int]:
    """Return (rows, row length) of one tensor; fused experts count as more rows."""
    row = group.shape[-1] if group.shape else 1
    return (group.elements // row if row else 0), row


def kept_bytes(group: WeightGroup) -> int:
    """Return bytes of a group that stays 16-bit. Buffers and second copies are not loaded."""
    return group.parameters * _KEPT_BYTES


@dataclass(frozen=True, slots=True)
class Plain:
    """Layout with every parameter in one width."""

    bits: int

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        return group.parameters * self.bits // 8


@dataclass(frozen=True, slots=True)
class BlockLinears:
    """Layout with the layers' linears quantized matrix by matrix, all else 16-bit.

    `matrix_bytes(rows, columns)` gives the bytes of one [out, in] matrix; fused experts are
    one such matrix per expert.
    """

    matrix_bytes: Callable[[int, int], int]
    experts_only: bool = False

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        wanted = is_block_linear(group) and group.parameters > 0
        if self.experts_only and model.experts:
            wanted = wanted and group.kind is Kind.EXPERT
        if not wanted:
            return kept_bytes(group)
        matrices, rows, columns = _matrices(group)
        return group.count * matrices * self.matrix_bytes(rows, columns)


def _matrices(group: WeightGroup) -> tuple[int, int, int]:
    if len(group.shape) >= 3:
        return math.prod(group.shape[:-2]), group.shape[-2], group.shape[-1]
    rows, columns = sides(group)
    return 1, rows, columns


def per_channel(bits: int, scale_bytes: int) -> BlockLinears:
    """Build integers or FP8 with one scale per output row."""
    return BlockLinears(lambda rows, columns: rows * columns * bits // 8 + rows * scale_bytes)


def gptq(bits: int, group_size: int) -> BlockLinears:
    """Build AutoGPTQ: packed qweight and qzeros, FP16 scales, and an int32 g_idx per input."""

    def matrix_bytes(rows: int, columns: int) -> int:
        groups = _ceil(columns, group_size)
        packed = _words(columns, bits) * rows * 4
        return packed + groups * _words(rows, bits) * 4 + groups * rows * 2 + columns * 4

    return BlockLinears(matrix_bytes)


def awq(bits: int, group_size: int) -> BlockLinears:
    """Build AutoAWQ GEMM: packed along the outputs, no g_idx."""

    def matrix_bytes(rows: int, columns: int) -> int:
        groups = _ceil(columns, group_size)
        packed_rows = _words(rows, bits) * 4
        return columns * packed_rows + groups * packed_rows + groups * rows * 2

    return BlockLinears(matrix_bytes)


def bnb_nf4(group_size: int, *, double_quant: bool) -> BlockLinears:
    """Build bitsandbytes 4-bit: absmax per 64 weights."""

    def matrix_bytes(rows: int, columns: int) -> int:
        weights = rows * columns
        blocks = _ceil(weights, group_size)
        constants = 16 * 4 + _BNB_STATE_BYTES
        # When doubled, absmax is itself 8-bit with FP32 per 256.
        absmax = blocks + _ceil(blocks, 256) * 4 + 256 * 4 if double_quant else blocks * 4
        return _ceil(weights, 2) + absmax + constants

    return BlockLinears(matrix_bytes)


def mxfp4(group_size: int) -> BlockLinears:
    """Build 4-bit floats with one 8-bit exponent per 32; of a MoE only the experts (gpt-oss)."""
    return BlockLinears(
        lambda rows, columns: rows * (_ceil(columns, 2) + _ceil(columns, group_size)),
        experts_only=True,
    )


def nvfp4(group_size: int) -> BlockLinears:
    """Build 4-bit floats, an FP8 scale per 16 weights, and two FP32 scalars per matrix."""
    return BlockLinears(
        lambda rows, columns: rows * (_ceil(columns, 2) + _ceil(columns, group_size)) + 8
    )


@dataclass(frozen=True, slots=True)
class Exl:
    """EXL2 and EXL3: an average width over the linears, a wider output head, 16-bit embeddings."""

    bits: float

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        if is_block_linear(group):
            return math.ceil(group.parameters * self.bits / 8)
        if group.kind is Kind.OUTPUT:
            head_bits = 8 if self.bits >= 8 else 6
            return math.ceil(group.parameters * head_bits / 8)
        return kept_bytes(group)


@dataclass(frozen=True, slots=True)
class Mlx:
    """MLX: linears, embeddings and head in groups with a 16-bit scale and bias each."""

    bits: int
    group_size: int

    def group_bytes(self, group: WeightGroup, model: ModelShape) -> int:
        matrix = is_block_linear(group) or group.kind in (Kind.EMBEDDING, Kind.OUTPUT, Kind.ROUTER)
        rows, row = sides(group)
        if not matrix or not group.parameters or row % self.group_size:
            return kept_bytes(group)
        groups = rows * (row // self.group_size)
        return group.count * (rows * row * self.bits // 8 + groups * 2 * _KEPT_BYTES)


def _ceil(value: int, divisor: int) -> int:
    return -(-value // divisor)


def _words(values: int, bits: int) -> int:
    # 32-bit words for packed values
    return _ceil(values * bits, 32)
