"""Layouts of AutoRound, ExLlama, HQQ, torchao and Quark, and checkpoints of mixed widths.

Written from the libraries' own packing code, like `tests.packed_layouts` independently of
gpusizer; `ALL_LAYOUTS` holds both modules' rows.
"""

from __future__ import annotations

from typing import Any

from gpusizer.hub.tensors import TensorGroup
from tests.builders import Linear
from tests.packed_layouts import LAYOUTS, Axes, Layout, awq, fp8_tensor, gptq, mlx, stored


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
            inner_axes = (inside, *axes[1:])
            tensors += stored(name, inner_axes, (".q_weight", "I32", (depth, rows)))
    return tensors + stored(
        name,
        axes,
        (".q_groups", "I16", (2 * groups,)),
        (".q_invperm", "I32", (columns,)),
        (".q_scale", "I32", (groups, rows // 8)),
        (".q_scale_max", "F16", (groups,)),
    )


def exl3(bits: int) -> Linear:
    """EXL3: tiles of 16 x 16 weights, and a sign per input and output."""
    return lambda name, rows, columns, axes: stored(
        name,
        axes,
        (".trellis", "I16", (columns // 16, rows // 16, 16 * bits)),
        (".suh", "F16", (columns,)),
        (".svh", "F16", (rows,)),
        (".mcg", "I32", ()),
    )


def hqq(bits: int, group_size: int = 64, axis: int = 1, as_float: bool = False) -> Linear:
    """HQQ: groups are rows (axis 1) or columns (axis 0), packed down the rows."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        groups = rows * columns // group_size
        height, width = (groups, group_size) if axis == 1 else (group_size, groups)
        dtype, packed = ("I32", -(-height // 10)) if bits == 3 else ("U8", height * bits // 8)
        if as_float:
            dtype, width = "BF16", width // 2
        scales = (groups, 1) if axis == 1 else (1, groups)
        flags = (
            ".axis",
            ".channel_wise",
            ".group_size",
            ".nbits",
            ".offload_meta",
            ".optimize",
            ".quant_scale",
            ".quant_zero",
            ".round_zero",
            ".stores_quant_config",
            ".view_as_float",
        )
        return stored(
            name,
            axes,
            (".W_q", dtype, (packed, width)),
            (".scale", "BF16", scales),
            (".zero", "BF16", scales),
            (".shape", "I64", (2,)),
            (".packing", "U8", (7,)),
            *((flag, "I32", ()) for flag in flags),
        )

    return linear


def torchao_int4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """torchao Int4Tensor, flattened: two weights in each byte."""
    return stored(
        name,
        axes,
        ("._weight_qdata", "U8", (rows, columns // 2)),
        ("._weight_scale", "BF16", (columns // 128, rows)),
        ("._weight_zero_point", "BF16", (columns // 128, rows)),
    )


def torchao_tiles(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """torchao Int4TilePackedTo4dTensor: tinygemm's tiles of eight weights in an int32."""
    return stored(
        name,
        axes,
        ("._weight_qdata", "I32", (rows // 8, columns // 128, 32, 4)),
        ("._weight_scale_and_zero", "BF16", (columns // 128, rows, 2)),
    )


def torchao_rows(dtype: str) -> Linear:
    """torchao Float8Tensor and Int8Tensor with a scale per row."""
    return lambda name, rows, columns, axes: stored(
        name,
        axes,
        ("._weight_qdata", dtype, (rows, columns)),
        ("._weight_scale", "F32", (rows, 1)),
    )


def quark_mxfp4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AMD Quark MXFP4: two weights in each byte, an exponent per 32 as a byte."""
    return stored(
        name,
        axes,
        (".weight", "U8", (rows, columns // 2)),
        (".weight_scale", "U8", (rows, columns // 32)),
    )


def mixed(*choices: tuple[int, Linear]) -> Linear:
    """Layers in several widths: the n-th choice applies from its layer number on."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        tensors = []
        for number, (first_layer, choice) in enumerate(choices):
            end_layer = choices[number + 1][0] if number + 1 < len(choices) else max(axes[0]) + 1
            inside = tuple(n for n in axes[0] if first_layer <= n < end_layer)
            tensors += choice(name, rows, columns, (inside, *axes[1:])) if inside else []
        return tensors

    return linear


def _hqq_settings(bits: int) -> dict[str, Any]:
    params = {"nbits": bits, "group_size": 64, "axis": 1}
    return {"quant_method": "hqq", "quant_config": {"weight_quant_params": params}}


def _torchao_settings(kind: str, **fields: Any) -> dict[str, Any]:
    settings = {"_type": kind, "_version": 2, "_data": fields}
    return {"quant_method": "torchao", "quant_type": {"default": settings}}


def _quark_settings(dtype: str, group_size: int | None = None) -> dict[str, Any]:
    weight = {"dtype": dtype, "group_size": group_size, "qscheme": "per_group"}
    return {"quant_method": "quark", "global_quant_config": {"weight": weight}}


ALL_LAYOUTS: dict[str, tuple[Layout, dict[str, Any]]] = {
    **LAYOUTS,
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
}
