"""Shapes of the parameters in packed tensors."""

# A rule knows the ending of the packed tensor's name, proves the layout by the tensors beside it,
# and returns [out, in] if the sides survive packing. Each rule names the code that writes the
# layout. Published headers with known totals confirm them (tests/unit/test_packing.py).

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpusizer.hub.tensors import TensorGroup
from gpusizer.model.packing import StoredQuantization

Shape = tuple[int, ...]

_TILE = 16  # EXL3 stores tiles of 16 x 16 weights
_WIDTHS = range(1, 9)


class Neighbours:
    """The tensors of one component, to look up the scales and zeros of a packed tensor."""

    def __init__(self, groups: Iterable[TensorGroup]) -> None:
        self._groups: dict[str, list[TensorGroup]] = {}
        for group in groups:
            self._groups.setdefault(group.pattern, []).append(group)
        self.dtypes: Mapping[str, str] = {
            pattern: same_pattern[-1].dtype for pattern, same_pattern in self._groups.items()
        }

    def shape(self, pattern: str, packed: TensorGroup) -> Shape | None:
        """Return the shape of the tensor of that name in the layers of `packed`, or None."""
        same_pattern = self._groups.get(pattern, [])
        same = (group.shape for group in same_pattern if _covers(group, packed))
        return next(same, same_pattern[0].shape if same_pattern else None)


def _covers(group: TensorGroup, other: TensorGroup) -> bool:
    return len(group.indices) == len(other.indices) and all(
        set(wanted) <= set(present)
        for present, wanted in zip(group.indices, other.indices, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Unproven:
    """The likely shape of a packed tensor whose companions contradict its layout."""

    likely: Shape


@dataclass(frozen=True, slots=True)
class _Packed:
    """A tensor that may be packed, with the facts that rules read."""

    group: TensorGroup
    stem: str
    beside: Neighbours
    quantization: StoredQuantization | None

    @property
    def shape(self) -> Shape:
        return self.group.shape

    @property
    def bits(self) -> int:
        """Bits of one weight as configured, 0 if unknown."""
        return (self.quantization.bits or 0) if self.quantization else 0

    @property
    def group_size(self) -> int:
        """Weights that share a scale as configured, 0 if unknown."""
        return (self.quantization.group_size or 0) if self.quantization else 0

    def dtype(self, suffix: str) -> str | None:
        return self.beside.dtypes.get(self.stem + suffix)

    def neighbour(self, suffix: str) -> Shape | None:
        return self.beside.shape(self.stem + suffix, self.group)

    def widened(
        self, word_bits: int, bits: int, scales: Shape | None = None
    ) -> Shape | Unproven | None:
        # The last side is unpacked by the groups that have a scale, else by the width: mixed-width
        # checkpoints configure one width, but every group has its scale.
        if not self.shape:
            return None
        length = self.shape[-1]
        by_width = (*self.shape[:-1], _times(length, word_bits, bits))
        if scales is None or not self.group_size:
            return by_width
        if len(scales) != len(self.shape):
            return Unproven(by_width)
        columns = scales[-1] * self.group_size
        if columns and Fraction(length * word_bits, columns) in _WIDTHS:
            return (*self.shape[:-1], columns)
        return by_width if scales[-1] == 1 else Unproven(by_width)


def logical_shape(
    group: TensorGroup, neighbours: Neighbours, quantization: StoredQuantization | None
) -> Shape:
    """Return the shape of the parameters that a stored tensor holds."""
    # GPTQ, AWQ and EXL store [in, out] matrices: their logical shape is turned to [out, in].
    # bitsandbytes and HQQ flatten the matrix: the count is exact, the sides are lost.
    shape = unpacked_shape(group, neighbours, quantization)
    return shape.likely if isinstance(shape, Unproven) else shape


def unpacked_shape(
    group: TensorGroup, neighbours: Neighbours, quantization: StoredQuantization | None
) -> Shape | Unproven:
    """Return `logical_shape`, as Unproven if a tensor is packed but its companions do not fit."""
    for suffix, rule in _RULES:
        if group.pattern.endswith(suffix):
            stem = group.pattern.removesuffix(suffix)
            shape = rule(_Packed(group, stem, neighbours, quantization))
            if shape is not None:
                return shape
            is_packed = (suffix, group.dtype) in _PACKED_AS
            return Unproven(group.shape) if is_packed else group.shape
    return group.shape


def _gptq_or_awq(packed: _Packed) -> Shape | Unproven | None:
    # AutoGPTQ and GPTQModel pack down the inputs, AutoAWQ across the outputs. AutoRound exports
    # either (`packing_format`); the scales, [groups, out], distinguish them.
    shape = packed.shape
    if packed.group.dtype != "I32" or len(shape) != 2:
        return None
    scales = packed.neighbour(".scales")
    by_name = packed.quantization is not None and packed.quantization.method == "awq"
    across = (_times(shape[1], 32, packed.bits), shape[0])
    down = (shape[1], _times(shape[0], 32, packed.bits))
    if scales is None:
        likely = across if by_name else down
    elif len(scales) != 2 or 0 in scales:
        return Unproven(across if by_name else down)
    elif scales[-1] == shape[1]:
        likely = down
    elif Fraction(shape[1] * 32, scales[-1]) in _WIDTHS or scales[0] == shape[0]:
        return across  # [in, out / 8] of AutoAWQ's GEMM, [out, in / 8] of its GEMV
    else:
        return Unproven(across if by_name else down)
    inputs = packed.neighbour(".g_idx")  # one entry per input, whatever the layer's width
    if likely is across or inputs is None:
        return likely
    if len(inputs) != 1 or not inputs[0] or Fraction(shape[0] * 32, inputs[0]) not in _WIDTHS:
        return Unproven(likely)
    return (shape[1], inputs[0])


def _mxfp4(packed: _Packed) -> Shape | None:
    # transformers' MXFP4 integration: [experts, out, in / 32, 16 bytes]
    if packed.group.dtype != "U8" or len(packed.shape) != 4:
        return None
    return (*packed.shape[:2], packed.shape[2] * packed.shape[3] * 2)


def _compressed(packed: _Packed) -> Shape | Unproven | None:
    # compressed-tensors: int32 words for integers, bytes for FP4 pairs
    word_bits = 32 if packed.group.dtype == "I32" else 8
    return packed.widened(word_bits, packed.bits or 4, packed.neighbour(".weight_scale"))


def _exl2(packed: _Packed) -> Shape | None:
    # exllamav2 AdaptiveLinear.pack: rows of several widths; q_invperm has one entry per input
    inputs = packed.neighbour(".q_invperm") or packed.neighbour(".q_perm")
    if inputs is None or len(inputs) != 1 or len(packed.shape) != 2 or not inputs[0]:
        return None
    if not 1 <= Fraction(packed.shape[0] * 32, inputs[0]) <= _WIDTHS[-1]:
        return None
    return (packed.shape[1], inputs[0])


def _exl3(packed: _Packed) -> Shape | None:
    # exllamav3 LinearEXL3: [in / 16, out / 16, 16 x bits] in int16, one tile of 16 x 16 each
    if len(packed.shape) != 3 or Fraction(packed.shape[2], _TILE) not in _WIDTHS:
        return None
    return (packed.shape[1] * _TILE, packed.shape[0] * _TILE)


def _hqq(packed: _Packed) -> Shape | Unproven:
    # hqq Quantizer.quantize and BitPack: groups as rows (axis 1), packed down the rows. The scales,
    # one per row before packing, give the count even if packing pads (3-bit).
    scales, shape = packed.neighbour(".scale"), packed.shape
    stored_bits = packed.group.stored_bytes * 8 // max(packed.group.count, 1)
    by_width = (stored_bits // packed.bits,) if packed.bits else (math.prod(shape),)
    if scales is None:
        return by_width
    weights = 0
    if len(scales) == len(shape) == 2:
        if scales[1] == 1 < shape[1]:
            # view_as_float shows two packed bytes as one 16-bit element.
            weights = scales[0] * (packed.group_size or shape[1])
        elif scales[0] == 1 and packed.group_size:
            weights = packed.group_size * scales[1]
    return (weights,) if 0 < weights <= stored_bits else Unproven(by_width)


def _torchao(packed: _Packed) -> Shape | Unproven | None:
    # torchao flatten_tensor_state_dict: Int4 and FP4 two to a byte, tile-packed int4 eight to an
    # int32 in four dimensions, all others one to an element
    if packed.group.dtype == "I32":
        return (math.prod(packed.shape) * 8,)
    return packed.widened(8, 4) if packed.group.dtype == "U8" else packed.shape


def _plain_name(packed: _Packed) -> Shape | Unproven | None:
    # plain `weight`, packed by its dtype and companions
    dtype, shape = packed.group.dtype, packed.shape
    scale = packed.dtype(".weight_scale")
    if dtype == "U8" and packed.dtype(".weight.absmax"):
        return (math.prod(shape) * 2,)  # bitsandbytes quantize_4bit
    if dtype == "U32" and packed.dtype(".scales"):
        return packed.widened(32, packed.bits, packed.neighbour(".scales"))  # mlx.nn.quantize
    if dtype == "U8" and scale in _BLOCK_SCALES:
        return packed.widened(8, 4)  # Model Optimizer's NVFP4, Quark's MXFP4
    if dtype == "I8" and packed.dtype(".scale") == "F8_E8M0":
        return packed.widened(8, 4)  # DeepSeek-V4 experts: two FP4 values in each int8
    if dtype == "I32" and scale and packed.bits:
        return packed.widened(32, packed.bits)  # Quark's INT4 (pack_method "reorder")
    if dtype == "U8" and scale and len(shape) == 2:
        return (shape[0] * 4, shape[1])  # BitNet: four ternary values in each byte, along rows
    return None


# One FP8 scale per 16 weights (NVFP4), one exponent per 32 (MXFP4), never one per tensor.
_BLOCK_SCALES = ("F8_E4M3", "F8_E8M0", "U8")

_RULES: tuple[tuple[str, Callable[[_Packed], Shape | Unproven | None]], ...] = (
    (".qweight", _gptq_or_awq),
    ("_blocks", _mxfp4),
    (".weight_packed", _compressed),
    (".q_weight", _exl2),
    (".trellis", _exl3),
    (".W_q", _hqq),
    ("._weight_qdata", _torchao),
    (".weight", _plain_name),
)

# The dtypes in which names that end like this are never anything but packed weights.
_PACKED_AS = frozenset(
    [
        (".qweight", "I32"),
        ("_blocks", "U8"),
        (".weight_packed", "I32"),
        (".weight_packed", "U8"),
        (".q_weight", "I32"),
        (".trellis", "I16"),
    ]
)


def _times(length: int, word_bits: int, bits: int) -> int:
    # 3-bit packs 32 values in three words: no rounding down per word
    return int(length * Fraction(word_bits, bits)) if bits else length
