"""Detection of a checkpoint's quantization from its configuration files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum, auto

from gpusizer.core.loose_values import JsonObject, JsonValue, object_in
from gpusizer.hub.snapshot import Config
from gpusizer.hub.tensors import TensorGroup
from gpusizer.model.packing import StoredQuantization
from gpusizer.model.unpacking import Neighbours, logical_shape

_MAX_BITS = 16
_WIDTH_IN_NAME = re.compile(r"(?:int|float|fp|mx|nv)(1|2|3|4|5|6|7|8)(?!\d)")
# Words in repository names for weights that were quantized from others.
_CONVERSION = re.compile(
    r"[-_.](gguf|fp8|awq|gptq|exl[23]|mlx|nvfp4|bnb|quantized|w\da\d+|int[48]|[48]-?bit)(?=[-_.]|$)"
)
# Data-free names of quantization algorithms in hf_quant_config.json (TensorRT Model Optimizer).
_MODELOPT_BITS = {"FP8": 8, "NVFP4": 4, "W4A16_AWQ": 4, "W4A8_AWQ": 4, "INT4_AWQ": 4, "W8A8_SQ": 8}


class Grouped(StrEnum):
    """Methods whose settings are bits and a group size at the top level of the configuration."""

    GPTQ = auto()
    AWQ = auto()
    MLX = auto()  # its settings name no method


def detect_quantization(
    config: Config | None, extra_configs: Mapping[str, Config]
) -> StoredQuantization | None:
    """Return the stored quantization, or None for a plain checkpoint."""
    # `quantization_config` (also inside `text_config`), MLX's `quantization`, then
    # `quantize_config.json` (GPTQ before August 2023) and `hf_quant_config.json`.
    for settings in _candidates(config or {}):
        quantization = _from_settings(settings)
        if quantization is not None:
            return quantization
    legacy = extra_configs.get("quantize_config.json")
    if legacy is not None and _bits(legacy) is not None:
        return _grouped(Grouped.GPTQ)(legacy)
    optimizer = extra_configs.get("hf_quant_config.json")
    if optimizer is not None:
        return _modelopt(object_in(optimizer.get("quantization")))
    return None


def names_a_conversion(repo_id: str) -> bool:
    """Return whether a repository's name marks its weights as quantized from others."""
    return _CONVERSION.search(repo_id.rpartition("/")[2].casefold()) is not None


def _candidates(config: Config) -> list[Config]:
    places = [config, object_in(config.get("text_config"))]
    candidates = [
        place["quantization_config"] for place in places if "quantization_config" in place
    ]
    if "quantization" in config:
        candidates.append(config["quantization"])
    return [settings for settings in candidates if isinstance(settings, dict)]


def _from_settings(settings: Config) -> StoredQuantization | None:
    method = settings.get("quant_method")
    if not isinstance(method, str):
        return _grouped(Grouped.MLX)(settings) if _bits(settings) is not None else None
    method = method.lower().replace("_", "-")
    method = _ALIASES.get(method, method)[:40]
    reader = _READERS.get(method, _grouped(method))
    return reader(settings)


def quantization_of_tensors(tensors: Iterable[TensorGroup]) -> StoredQuantization | None:
    """Return the quantization by tensor names, or None."""
    # EXL2 before 2024 wrote no configuration. The width is stored bits over parameters, rounded.
    groups = tuple(tensors)
    for suffix, method in _BY_SUFFIX.items():
        packed = [group for group in groups if group.pattern.endswith(suffix)]
        if not packed:
            continue
        neighbours = Neighbours(groups)
        weights = sum(
            math.prod(logical_shape(group, neighbours, None)) * group.count for group in packed
        )
        stored = sum(group.stored_bytes for group in packed) * 8
        bits = round(stored / weights) if weights else 0
        return StoredQuantization(method, bits if 0 < bits <= _MAX_BITS else None)
    return None


def is_known_method(method: str) -> bool:
    """Return whether a rule unpacks the tensors of this method."""
    return method in _KNOWN


def _grouped(method: str) -> Callable[[Config], StoredQuantization | None]:
    # GPTQ, AWQ, AutoRound, EXL and MLX have bits and group_size at the top level. Quanto and EETQ
    # name a type instead: `weights: "int8"`.
    def read(settings: Config) -> StoredQuantization | None:
        group = settings.get("group_size", settings.get("q_group_size"))
        bits = _bits(settings) or _bits_of_name(settings.get("weights"))
        return StoredQuantization(method, bits, _size(group))

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
    for group in object_in(settings.get("config_groups")).values():
        weights = object_in(object_in(group).get("weights"))
        bits = _bits(weights)
        if bits is not None:
            method = "nvfp4" if "nvfp4" in str(settings.get("format")) else "compressed-tensors"
            cache = "compressed-tensors" if object_in(settings.get("kv_cache_scheme")) else None
            return StoredQuantization(method, bits, _size(weights.get("group_size")), cache)
    return None


def _hqq(settings: Config) -> StoredQuantization:
    # transformers HqqConfig: `weight_quant_params`, once or for each kind of linear
    config = object_in(settings.get("quant_config"))
    for place in (config, *config.values()):
        params = object_in(object_in(place).get("weight_quant_params"))
        bits = _bits(params)
        if bits is not None:
            return StoredQuantization("hqq", bits, _size(params.get("group_size")))
    return StoredQuantization("hqq", None)


def _torchao(settings: Config) -> StoredQuantization:
    # transformers TorchAoConfig: a name ("int4_weight_only"), or a class and its fields
    kind = settings.get("quant_type")
    fields = object_in(settings.get("quant_type_kwargs"))
    if isinstance(kind, dict):
        chosen = object_in(kind.get("default"))
        kind, fields = chosen.get("_type"), object_in(chosen.get("_data"))
    inner = object_in(fields.get("weight_dtype")).get("_data")
    bits = _bits_of_name(inner) or _bits_of_name(kind)
    return StoredQuantization("torchao", bits, _size(fields.get("group_size")))


def _quark(settings: Config) -> StoredQuantization:
    # AMD Quark: `global_quant_config.weight`, one specification or a list of stages
    weight = object_in(settings.get("global_quant_config")).get("weight")
    stages = weight if isinstance(weight, list) else [weight]
    for stage in stages:
        if isinstance(stage, dict) and (bits := _bits_of_name(stage.get("dtype"))):
            return StoredQuantization("quark", bits, _size(stage.get("group_size")))
    return StoredQuantization("quark", None)


def _modelopt(settings: Config) -> StoredQuantization | None:
    algorithm = settings.get("quant_algo")
    bits = _MODELOPT_BITS.get(algorithm) if isinstance(algorithm, str) else None
    if bits is None:
        return None
    cache = "modelopt" if _has_fp8_cache(settings) else None
    if algorithm == "NVFP4":
        return StoredQuantization("nvfp4", 4, 16, cache)
    return StoredQuantization("modelopt", bits, _size(settings.get("group_size")), cache)


def _has_fp8_cache(settings: Config) -> bool:
    # a name ("FP8") or a specification of eight-bit floats, as in `get_kv_cache_quant_algo_string`
    # of vllm/utils/torch_utils.py
    scheme = settings.get("kv_cache_scheme") or settings.get("kv_cache_quant_algo")
    if isinstance(scheme, dict):
        return scheme.get("num_bits") == 8 and scheme.get("type") == "float"
    return isinstance(scheme, str) and scheme.lower() == "fp8"


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
    "hqq": _hqq,
    "torchao": _torchao,
    "quark": _quark,
}
_ALIASES = {"autoround": "auto-round", "intel/auto-round": "auto-round"}
_BY_SUFFIX = {".q_weight": "exl2", ".trellis": "exl3", ".W_q": "hqq", "._weight_qdata": "torchao"}
_KNOWN = frozenset({*_READERS, *_BY_SUFFIX.values(), *Grouped, "auto-round", "nvfp4", "eetq"})


def _bits(settings: JsonObject) -> int | None:
    for key in ("bits", "w_bit", "num_bits", "nbits"):
        value = settings.get(key)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 < value <= _MAX_BITS
        ):
            return max(1, round(value))
    return None


def _bits_of_name(name: JsonValue) -> int | None:
    # width in the name of a type or method: "fp8_e4m3"; activations come first, weights last
    widths = _WIDTH_IN_NAME.findall(name.lower()) if isinstance(name, str) else []
    return int(widths[-1]) if widths else None


def _size(value: JsonValue) -> int | None:
    # -1 means a whole row in GPTQ and compressed-tensors
    return value if type(value) is int and value > 0 else None
