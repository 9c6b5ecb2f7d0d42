"""How quantizers store one matrix: `Linear` functions for `tests.builders`.

Written from published headers, independently of gpusizer.memory.quants: each returns the tensors
found in real files of that format, and `CONFIGS` the settings that announce them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpusizer.hub.tensors import TensorGroup
from tests.builders import Linear, group

Axes = tuple[Sequence[int], ...]


def stored(name: str, axes: Axes, *parts: tuple[str, str, tuple[int, ...]]) -> list[TensorGroup]:
    """One group for each (suffix, dtype, shape)."""
    return [group(name + suffix, shape, *axes, dtype=dtype) for suffix, dtype, shape in parts]


def gptq(bits: int = 4, group_size: int = 128) -> Linear:
    """AutoGPTQ: weights packed down the inputs, zero points across the outputs."""

    def linear(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
        groups = columns // group_size
        return stored(
            name,
            axes,
            (".qweight", "I32", (columns * bits // 32, rows)),
            (".qzeros", "I32", (groups, rows * bits // 32)),
            (".scales", "F16", (groups, rows)),
            (".g_idx", "I32", (columns,)),
        )

    return linear


def gptq_with_biases(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoGPTQ 4-bit, with the zero bias it adds to linears that have none."""
    return [*gptq()(name, rows, columns, axes), group(f"{name}.bias", (rows,), *axes, dtype="F16")]


def awq(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoAWQ 4-bit in groups of 128: everything packed across the outputs."""
    return stored(
        name,
        axes,
        (".qweight", "I32", (columns, rows // 8)),
        (".qzeros", "I32", (columns // 128, rows // 8)),
        (".scales", "F16", (columns // 128, rows)),
    )


def bnb_nf4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """bitsandbytes 4-bit with double quantization: flattened, two weights in each byte."""
    weight, blocks = f"{name}.weight", rows * columns // 64
    return stored(
        weight,
        axes,
        ("", "U8", (rows * columns // 2, 1)),
        (".absmax", "U8", (blocks,)),
        (".nested_absmax", "F32", (-(-blocks // 256),)),
        (".nested_quant_map", "F32", (256,)),
        (".quant_map", "F32", (16,)),
        (".quant_state.bitsandbytes__nf4", "U8", (172,)),
    )


def bnb_int8(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """bitsandbytes LLM.int8: one FP32 SCB per output."""
    return stored(
        name,
        axes,
        (".weight", "I8", (rows, columns)),
        (".SCB", "F32", (rows,)),
        (".weight_format", "U8", ()),
    )


def per_channel(dtype: str) -> Linear:
    """compressed-tensors W8A8: one BF16 scale per output."""
    return lambda name, rows, columns, axes: stored(
        name, axes, (".weight", dtype, (rows, columns)), (".weight_scale", "BF16", (rows, 1))
    )


def fp8_tensor(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """AutoFP8: one scale per tensor, as a 0-d tensor."""
    return stored(
        name,
        axes,
        (".weight", "F8_E4M3", (rows, columns)),
        (".weight_scale", "F32", ()),
        (".input_scale", "F32", ()),
    )


def fp8_blocks(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """DeepSeek FP8: one FP32 scale per 128 x 128 block."""
    scales = (-(-rows // 128), -(-columns // 128))
    return stored(
        name,
        axes,
        (".weight", "F8_E4M3", (rows, columns)),
        (".weight_scale_inv", "F32", scales),
    )


def w4a16(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """compressed-tensors pack-quantized: eight 4-bit weights in each int32, row by row."""
    return stored(
        name,
        axes,
        (".weight_packed", "I32", (rows, columns // 8)),
        (".weight_scale", "BF16", (rows, columns // 128)),
        (".weight_shape", "I64", (2,)),
    )


def nvfp4(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """compressed-tensors NVFP4."""
    return stored(
        name,
        axes,
        (".weight_packed", "U8", (rows, columns // 2)),
        (".weight_scale", "F8_E4M3", (rows, columns // 16)),
        (".weight_global_scale", "F32", (1,)),
        (".input_global_scale", "F32", (1,)),
    )


def nvfp4_modelopt(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """TensorRT Model Optimizer NVFP4: the packed tensor is called plain `weight`."""
    return stored(
        name,
        axes,
        (".weight", "U8", (rows, columns // 2)),
        (".weight_scale", "F8_E4M3", (rows, columns // 16)),
        (".weight_scale_2", "F32", ()),
        (".input_scale", "F32", ()),
    )


def mlx(bits: int = 4, group_size: int = 64) -> Linear:
    """MLX: packed uint32 with a 16-bit scale and bias per group."""
    return lambda name, rows, columns, axes: stored(
        name,
        axes,
        (".weight", "U32", (rows, columns * bits // 32)),
        (".scales", "BF16", (rows, columns // group_size)),
        (".biases", "BF16", (rows, columns // group_size)),
    )


def bitnet(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """BitNet b1.58: four ternary weights in each byte, along the rows."""
    return stored(
        name,
        axes,
        (".weight", "U8", (rows // 4, columns)),
        (".weight_scale", "BF16", (1,)),
    )


def fp4_in_int8(name: str, rows: int, columns: int, axes: Axes) -> list[TensorGroup]:
    """DeepSeek-V4 experts: two FP4 values in each int8, one E8M0 scale per 32."""
    return stored(
        name,
        axes,
        (".weight", "I8", (rows, columns // 2)),
        (".scale", "F8_E8M0", (rows, columns // 32)),
    )


def _compressed(bits: int, group_size: int | None, form: str) -> dict[str, Any]:
    weights = {"num_bits": bits, "group_size": group_size}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
    }


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
    "fp4-in-int8": (fp4_in_int8, {"quant_method": "fp8", "weight_block_size": [128, 128]}),
}
