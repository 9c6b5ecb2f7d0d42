"""How quantizers store one matrix: `Linear` functions for `tests.builders`.

Written from published headers, independently of gpusizer.quants: each returns the tensors
found in real files of that format, and `CONFIGS` the settings that announce them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpusizer.tensors import TensorGroup
from tests.builders import Linear, group

Axes = tuple[Sequence[int], ...]


def _tensors(name: str, axes: Axes, *stored: tuple[str, str, tuple[int, ...]]) -> list[TensorGroup]:
    return [group(name + suffix, shape, *axes, dtype=dtype) for suffix, dtype, shape in stored]


def gptq(bits: int = 4, group_size: int = 128) -> Linear:
    """AutoGPTQ: weights packed down the inputs, zero points across the outputs."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        groups = columns // group_size
        return _tensors(
            name, axes,
            (".qweight", "I32", (columns * bits // 32, rows)),
            (".qzeros", "I32", (groups, rows * bits // 32)),
            (".scales", "F16", (groups, rows)),
            (".g_idx", "I32", (columns,)),
        )  # fmt: skip

    return linear


def gptq_with_biases(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoGPTQ 4-bit, with the zero bias it adds to linears that have none."""
    return [*gptq()(name, rows, columns, axes), group(f"{name}.bias", (rows,), *axes, dtype="F16")]


def awq(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoAWQ 4-bit in groups of 128: everything packed across the outputs."""
    return _tensors(
        name, axes,
        (".qweight", "I32", (columns, rows // 8)),
        (".qzeros", "I32", (columns // 128, rows // 8)),
        (".scales", "F16", (columns // 128, rows)),
    )  # fmt: skip


def bnb_nf4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """bitsandbytes 4-bit with double quantization: flattened, two weights in each byte."""
    weight, blocks = f"{name}.weight", rows * columns // 64
    return _tensors(
        weight, axes,
        ("", "U8", (rows * columns // 2, 1)),
        (".absmax", "U8", (blocks,)),
        (".nested_absmax", "F32", (-(-blocks // 256),)),
        (".nested_quant_map", "F32", (256,)),
        (".quant_map", "F32", (16,)),
        (".quant_state.bitsandbytes__nf4", "U8", (172,)),
    )  # fmt: skip


def bnb_int8(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """bitsandbytes LLM.int8: one FP32 SCB per output."""
    return _tensors(
        name, axes,
        (".weight", "I8", (rows, columns)),
        (".SCB", "F32", (rows,)),
        (".weight_format", "U8", ()),
    )  # fmt: skip


def per_channel(dtype: str) -> Linear:
    """compressed-tensors W8A8: one BF16 scale per output."""
    return lambda name, rows, columns, axes: _tensors(
        name, axes, (".weight", dtype, (rows, columns)), (".weight_scale", "BF16", (rows, 1))
    )


def fp8_tensor(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoFP8: one scale per tensor, as a 0-d tensor."""
    return _tensors(
        name, axes,
        (".weight", "F8_E4M3", (rows, columns)),
        (".weight_scale", "F32", ()),
        (".input_scale", "F32", ()),
    )  # fmt: skip


def fp8_blocks(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """DeepSeek FP8: one FP32 scale per 128 x 128 block."""
    scales = (-(-rows // 128), -(-columns // 128))
    return _tensors(
        name, axes,
        (".weight", "F8_E4M3", (rows, columns)),
        (".weight_scale_inv", "F32", scales),
    )  # fmt: skip


def w4a16(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """compressed-tensors pack-quantized: eight 4-bit weights in each int32, row by row."""
    return _tensors(
        name, axes,
        (".weight_packed", "I32", (rows, columns // 8)),
        (".weight_scale", "BF16", (rows, columns // 128)),
        (".weight_shape", "I64", (2,)),
    )  # fmt: skip


def nvfp4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """compressed-tensors NVFP4."""
    return _tensors(
        name, axes,
        (".weight_packed", "U8", (rows, columns // 2)),
        (".weight_scale", "F8_E4M3", (rows, columns // 16)),
        (".weight_global_scale", "F32", (1,)),
        (".input_global_scale", "F32", (1,)),
    )  # fmt: skip


def nvfp4_modelopt(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """TensorRT Model Optimizer NVFP4: the packed tensor is called plain `weight`."""
    return _tensors(
        name, axes,
        (".weight", "U8", (rows, columns // 2)),
        (".weight_scale", "F8_E4M3", (rows, columns // 16)),
        (".weight_scale_2", "F32", ()),
        (".input_scale", "F32", ()),
    )  # fmt: skip


def mlx(bits: int = 4, group_size: int = 64) -> Linear:
    """MLX: packed uint32 with a 16-bit scale and bias per group."""
    return lambda name, rows, columns, axes: _tensors(
        name, axes,
        (".weight", "U32", (rows, columns * bits // 32)),
        (".scales", "BF16", (rows, columns // group_size)),
        (".biases", "BF16", (rows, columns // group_size)),
    )  # fmt: skip


def bitnet(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """BitNet b1.58: four ternary weights in each byte, along the rows."""
    return _tensors(
        name, axes,
        (".weight", "U8", (rows // 4, columns)),
        (".weight_scale", "BF16", (1,)),
    )  # fmt: skip


def fp4_in_int8(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """DeepSeek-V4 experts: two FP4 values in each int8, one E8M0 scale per 32."""
    return _tensors(
        name, axes,
        (".weight", "I8", (rows, columns // 2)),
        (".scale", "F8_E8M0", (rows, columns // 32)),
    )  # fmt: skip


def autoround_gptq(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoRound's auto_gptq packing: as AutoGPTQ, without g_idx."""
    return [t for t in gptq()(name, rows, columns, axes) if not t.pattern.endswith(".g_idx")]


def exl2(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """EXL2: a quarter of the inputs in 6 bits, the rest in 4; every other layer all in 4."""
    groups = columns // 128
    words = {0: columns // 4 * 6 // 32 + columns * 3 // 4 * 4 // 32, 1: columns * 4 // 32}
    tensors = []
    for parity, depth in words.items():
        inside = tuple(n for n in axes[0] if n % 2 == parity)
        if inside:
            every = (inside, *axes[1:])
            tensors += _tensors(name, every, (".q_weight", "I32", (depth, rows)))
    return tensors + _tensors(
        name, axes,
        (".q_groups", "I16", (2 * groups,)),
        (".q_invperm", "I32", (columns,)),
        (".q_scale", "I32", (groups, rows // 8)),
        (".q_scale_max", "F16", (groups,)),
    )  # fmt: skip


def exl3(bits: int) -> Linear:
    """EXL3: tiles of 16 x 16 weights, and a sign per input and output."""
    return lambda name, rows, columns, axes: _tensors(
        name, axes,
        (".trellis", "I16", (columns // 16, rows // 16, 16 * bits)),
        (".suh", "F16", (columns,)),
        (".svh", "F16", (rows,)),
        (".mcg", "I32", ()),
    )  # fmt: skip


def hqq(bits: int, group_size: int = 64, axis: int = 1, as_float: bool = False) -> Linear:
    """HQQ: groups are rows (axis 1) or columns (axis 0), packed down the rows."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        groups = rows * columns // group_size
        height, width = (groups, group_size) if axis == 1 else (group_size, groups)
        dtype, packed = ("I32", -(-height // 10)) if bits == 3 else ("U8", height * bits // 8)
        if as_float:
            dtype, width = "BF16", width // 2
        scales = (groups, 1) if axis == 1 else (1, groups)
        flags = (".axis", ".channel_wise", ".group_size", ".nbits", ".offload_meta", ".optimize",
                 ".quant_scale", ".quant_zero", ".round_zero", ".stores_quant_config",
                 ".view_as_float")  # fmt: skip
        return _tensors(
            name, axes,
            (".W_q", dtype, (packed, width)),
            (".scale", "BF16", scales),
            (".zero", "BF16", scales),
            (".shape", "I64", (2,)),
            (".packing", "U8", (7,)),
            *((flag, "I32", ()) for flag in flags),
        )  # fmt: skip

    return linear


def torchao_int4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """torchao Int4Tensor, flattened: two weights in each byte."""
    return _tensors(
        name, axes,
        ("._weight_qdata", "U8", (rows, columns // 2)),
        ("._weight_scale", "BF16", (columns // 128, rows)),
        ("._weight_zero_point", "BF16", (columns // 128, rows)),
    )  # fmt: skip


def torchao_tiles(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """torchao Int4TilePackedTo4dTensor: tinygemm's tiles of eight weights in an int32."""
    return _tensors(
        name, axes,
        ("._weight_qdata", "I32", (rows // 8, columns // 128, 32, 4)),
        ("._weight_scale_and_zero", "BF16", (columns // 128, rows, 2)),
    )  # fmt: skip


def torchao_rows(dtype: str) -> Linear:
    """torchao Float8Tensor and Int8Tensor with a scale per row."""
    return lambda name, rows, columns, axes: _tensors(
        name, axes,
        ("._weight_qdata", dtype, (rows, columns)),
        ("._weight_scale", "F32", (rows, 1)),
    )  # fmt: skip


def quark_mxfp4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AMD Quark MXFP4: two weights in each byte, an exponent per 32 as a byte."""
    return _tensors(
        name, axes,
        (".weight", "U8", (rows, columns // 2)),
        (".weight_scale", "U8", (rows, columns // 32)),
    )  # fmt: skip


def mixed(*choices: tuple[int, Linear]) -> Linear:
    """Layers in several widths: the n-th choice applies from its layer number on."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        tensors = []
        for number, (first, one) in enumerate(choices):
            last = choices[number + 1][0] if number + 1 < len(choices) else max(axes[0]) + 1
            inside = tuple(n for n in axes[0] if first <= n < last)
            tensors += one(name, rows, columns, (inside, *axes[1:])) if inside else []
        return tensors

    return linear


def mxfp4_experts(
    name: str, experts: int, rows: int, columns: int, axes: Axes
) -> list[TensorGroup]:
    """gpt-oss: all experts of a layer in one tensor, 16 bytes for each 32 weights."""
    return _tensors(
        name, axes,
        ("_blocks", "U8", (experts, rows, columns // 32, 16)),
        ("_scales", "U8", (experts, rows, columns // 32)),
    )  # fmt: skip


def _compressed(bits: int, group_size: int | None, form: str) -> dict[str, Any]:
    weights = {"num_bits": bits, "group_size": group_size}
    return {"quant_method": "compressed-tensors", "format": form,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}  # fmt: skip


def _hqq_settings(bits: int) -> dict[str, Any]:
    params = {"nbits": bits, "group_size": 64, "axis": 1}
    return {"quant_method": "hqq", "quant_config": {"weight_quant_params": params}}


def _torchao_settings(kind: str, **fields: Any) -> dict[str, Any]:
    chosen = {"_type": kind, "_version": 2, "_data": fields}
    return {"quant_method": "torchao", "quant_type": {"default": chosen}}


def _quark_settings(dtype: str, group_size: int | None = None) -> dict[str, Any]:
    weight = {"dtype": dtype, "group_size": group_size, "qscheme": "per_group"}
    return {"quant_method": "quark", "global_quant_config": {"weight": weight}}


Layout = Callable[..., list[TensorGroup]]

LAYOUTS: dict[str, tuple[Layout, dict[str, Any]]] = {
    "gptq-4": (gptq(), {"quant_method": "gptq", "bits": 4, "group_size": 128}),
    "gptq-8": (gptq(8), {"quant_method": "gptq", "bits": 8, "group_size": 128}),
    "gptq-3": (gptq(3), {"quant_method": "gptq", "bits": 3, "group_size": 128}),
    "gptq-2": (gptq(2), {"quant_method": "gptq", "bits": 2, "group_size": 128}),
    "gptq-biases": (gptq_with_biases, {"quant_method": "gptq", "bits": 4, "group_size": 128}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 128}),
    "bnb-nf4": (bnb_nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "bnb-int8": (bnb_int8, {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "w8a8-int8": (per_channel("I8"), _compressed(8, None, "int-quantized")),
    "fp8-dynamic": (per_channel("F8_E4M3"), _compressed(8, None, "float-quantized")),
    "fp8-tensor": (fp8_tensor, {"quant_method": "fp8", "activation_scheme": "static"}),
    "fp8-blocks": (fp8_blocks, {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    "w4a16": (w4a16, _compressed(4, 128, "pack-quantized")),
    "nvfp4": (nvfp4, _compressed(4, 16, "nvfp4-pack-quantized")),
    "nvfp4-modelopt": (nvfp4_modelopt, {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
    "mlx-4": (mlx(), {"bits": 4, "group_size": 64}),
    "mlx-6": (mlx(6), {"bits": 6, "group_size": 64}),
    "mlx-3": (mlx(3), {"bits": 3, "group_size": 64}),
    "bitnet": (bitnet, {"quant_method": "bitnet"}),
    "gptq-mixed": (mixed((0, gptq(8)), (1, gptq())), {"quant_method": "gptq", "bits": 4}),
    "mlx-mixed": (mixed((0, mlx(6)), (2, mlx())), {"bits": 4, "group_size": 64}),
    "autoround": (autoround_gptq, {"quant_method": "auto-round", "bits": 4, "group_size": 128}),
    "autoround-awq": (
        awq,
        {"quant_method": "auto-round", "bits": 4, "packing_format": "auto_round:auto_awq"},
    ),
    "exl2": (exl2, {"quant_method": "exl2", "version": "0.1.0", "bits": 4.25}),
    "exl3": (exl3(3), {"quant_method": "exl3", "version": "0.0.1", "bits": 3.0, "head_bits": 6}),
    "exl3-mixed": (mixed((0, exl3(5)), (1, exl3(2))), {"quant_method": "exl3", "bits": 2.25}),
    "hqq-4": (hqq(4), _hqq_settings(4)),
    "hqq-2-axis-0": (hqq(2, axis=0), _hqq_settings(2)),
    "hqq-3": (hqq(3), _hqq_settings(3)),
    "hqq-8": (hqq(8), _hqq_settings(8)),
    "hqq-4-as-float": (hqq(4, as_float=True), _hqq_settings(4)),
    "torchao-int4": (torchao_int4, _torchao_settings("Int4WeightOnlyConfig", group_size=128)),
    "torchao-tiles": (torchao_tiles, {"quant_method": "torchao", "quant_type": "int4_weight_only"}),
    "torchao-int8": (torchao_rows("I8"), _torchao_settings("Int8WeightOnlyConfig")),
    "torchao-fp8": (
        torchao_rows("F8_E4M3"),
        _torchao_settings("Float8DynamicActivationFloat8WeightConfig"),
    ),
    "quark-fp8": (fp8_tensor, _quark_settings("fp8_e4m3")),
    "quark-mxfp4": (quark_mxfp4, _quark_settings("fp4", 32)),
    "fp4-in-int8": (fp4_in_int8, {"quant_method": "fp8", "weight_block_size": [128, 128]}),
}
"""Name -> (how it stores a matrix, what its configuration says)."""
