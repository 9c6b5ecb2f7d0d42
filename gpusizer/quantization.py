"""Read how a checkpoint was quantized from the small files that say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpusizer.packing import StoredQuantization
from gpusizer.snapshot import Config

_MAX_BITS = 16
# Data-free names of quantization algorithms in hf_quant_config.json (TensorRT Model Optimizer).
_MODELOPT_BITS = {"FP8": 8, "NVFP4": 4, "W4A16_AWQ": 4, "W4A8_AWQ": 4, "INT4_AWQ": 4, "W8A8_SQ": 8}


def detect_quantization(
    config: Config | None, extra_configs: Mapping[str, Config]
) -> StoredQuantization | None:
    """The stored quantization, or None for a plain checkpoint.

    Looks at `quantization_config` (also inside `text_config`), MLX's `quantization`,
    `quantize_config.json` (GPTQ before August 2023) and `hf_quant_config.json`.
    """
    for settings in _candidates(config or {}):
        found = _from_settings(settings)
        if found is not None:
            return found
    legacy = extra_configs.get("quantize_config.json")
    if legacy is not None and _bits(legacy) is not None:
        return _grouped("gptq")(legacy)
    optimizer = extra_configs.get("hf_quant_config.json")
    if optimizer is not None:
        return _modelopt(_object(optimizer, "quantization"))
    return None


def _candidates(config: Config) -> list[Config]:
    places = [config, _object(config, "text_config")]
    found = [place["quantization_config"] for place in places if "quantization_config" in place]
    if "quantization" in config:
        found.append(config["quantization"])
    return [settings for settings in found if isinstance(settings, dict)]


def _from_settings(settings: Config) -> StoredQuantization | None:
    method = settings.get("quant_method")
    if not isinstance(method, str):
        return _grouped("mlx")(settings) if _bits(settings) is not None else None
    method = method.lower().replace("_", "-")
    reader = _READERS.get(method, _grouped(method[:40]))
    return reader(settings)


def _grouped(method: str) -> Callable[[Config], StoredQuantization | None]:
    """GPTQ, AWQ, AutoRound, HQQ, EXL, MLX: bits and group_size stand at the top."""

    def read(settings: Config) -> StoredQuantization | None:
        group = settings.get("group_size", settings.get("q_group_size"))
        return StoredQuantization(method, _bits(settings), _size(group))

    return read


def _bitsandbytes(settings: Config) -> StoredQuantization | None:
    if settings.get("load_in_8bit") is True:
        return StoredQuantization("bitsandbytes", 8)
    return StoredQuantization("bitsandbytes", 4, 64)


def _fp8(settings: Config) -> StoredQuantization | None:
    block = settings.get("weight_block_size")
    size = block[-1] if isinstance(block, list) and block else None
    return StoredQuantization("fp8", 8, _size(size))


def _compressed_tensors(settings: Config) -> StoredQuantization | None:
    groups = settings.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else []:
        weights = _object(group, "weights") if isinstance(group, dict) else {}
        bits = _bits(weights)
        if bits is not None:
            method = "nvfp4" if "nvfp4" in str(settings.get("format")) else "compressed-tensors"
            return StoredQuantization(method, bits, _size(weights.get("group_size")))
    return None


def _modelopt(settings: Config) -> StoredQuantization | None:
    algorithm = settings.get("quant_algo")
    bits = _MODELOPT_BITS.get(algorithm) if isinstance(algorithm, str) else None
    if bits is None:
        return None
    if algorithm == "NVFP4":
        return StoredQuantization("nvfp4", 4, 16)
    return StoredQuantization("modelopt", bits, _size(settings.get("group_size")))


def _fixed(
    method: str, bits: int, group_size: int | None
) -> Callable[[Config], StoredQuantization]:
    return lambda settings: StoredQuantization(method, bits, group_size)


_READERS: dict[str, Callable[[Config], StoredQuantization | None]] = {
    "bitsandbytes": _bitsandbytes,
    "fp8": _fp8,
    "fbgemm-fp8": _fixed("fp8", 8, None),
    "compressed-tensors": _compressed_tensors,
    "mxfp4": _fixed("mxfp4", 4, 32),
    "modelopt": _modelopt,
    "bitnet": _fixed("bitnet", 2, None),
}


def _bits(settings: Mapping[str, Any]) -> int | None:
    for key in ("bits", "w_bit", "num_bits"):
        value = settings.get(key)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 < value <= _MAX_BITS
        ):
            return max(1, round(value))
    return None


def _size(value: Any) -> int | None:
    """A group size; -1 means a whole row in GPTQ and compressed-tensors."""
    return value if type(value) is int and value > 0 else None


def _object(config: Config, key: str) -> Config:
    value = config.get(key)
    return value if isinstance(value, dict) else {}
