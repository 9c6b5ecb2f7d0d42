"""gpusizer.model.quantization: the quantization that a configuration states."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.model.packing import StoredQuantization
from gpusizer.model.profile import build_profile
from gpusizer.model.quantization import detect_quantization, quantization_of_tensors
from tests.builders import group, llama, tiny
from tests.newer_layouts import ALL_LAYOUTS


def detect(settings: Any) -> StoredQuantization | None:
    return detect_quantization({"quantization_config": settings}, {})


def compressed(**weights: Any) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
    }


HQQ_PARAMS = {"weight_quant_params": {"nbits": 2, "group_size": 16}}
NVFP4 = {**compressed(num_bits=4, group_size=16), "format": "nvfp4-pack-quantized"}


@pytest.mark.parametrize(
    "settings, method, bits, group_size",
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq", 4, 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "gptq", 8, None),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "awq", 4, 64),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, "awq", 4, 128),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes", 4, 64),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes", 8, None),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8, 128),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8", 8, None),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8, None),
        ({"quant_method": "mxfp4"}, "mxfp4", 4, 32),
        ({"quant_method": "bitnet"}, "bitnet", 2, None),
        (compressed(num_bits=8, group_size=None), "compressed-tensors", 8, None),
        (compressed(num_bits=4, group_size=128), "compressed-tensors", 4, 128),
        (compressed(num_bits=8, group_size=-1), "compressed-tensors", 8, None),
        (NVFP4, "nvfp4", 4, 16),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 4, 16),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt", 8, None),
        ({"quant_method": "AutoRound", "bits": 4, "group_size": 128}, "auto-round", 4, 128),
        ({"quant_method": "intel/auto-round", "bits": 2}, "auto-round", 2, None),
        ({"quant_method": "exl2", "bits": 4.65}, "exl2", 5, None),
        ({"bits": 4, "group_size": 64}, "mlx", 4, 64),  # MLX writes no method
        (ALL_LAYOUTS["hqq-4"][1], "hqq", 4, 64),
        (
            {"quant_method": "hqq", "quant_config": {"mlp.up_proj": HQQ_PARAMS}},
            "hqq",
            2,
            16,
        ),
        ({"quant_method": "hqq"}, "hqq", None, None),
        (ALL_LAYOUTS["torchao-int4"][1], "torchao", 4, 128),
        (ALL_LAYOUTS["torchao-fp8"][1], "torchao", 8, None),
        (
            {
                "quant_method": "torchao",
                "quant_type": "int8_dynamic_activation_int4_weight",
                "quant_type_kwargs": {"group_size": 32},
            },
            "torchao",
            4,
            32,
        ),
        ({"quant_method": "torchao", "quant_type": "autoquant"}, "torchao", None, None),
        (ALL_LAYOUTS["quark-fp8"][1], "quark", 8, None),
        (ALL_LAYOUTS["quark-mxfp4"][1], "quark", 4, 32),
        (
            {"quant_method": "quark", "global_quant_config": {"weight": [None, {"dtype": "int4"}]}},
            "quark",
            4,
            None,
        ),
        ({"quant_method": "quanto", "weights": "int4"}, "quanto", 4, None),
        ({"quant_method": "vptq"}, "vptq", None, None),
    ],
)
def test_quantization_config(
    settings: dict[str, Any], method: str, bits: int, group_size: int | None
) -> None:
    assert detect(settings) == StoredQuantization(method, bits, group_size)


@pytest.mark.parametrize("name", ALL_LAYOUTS)
def test_every_layout_is_announced(name: str) -> None:
    assert detect(ALL_LAYOUTS[name][1]) is not None


@pytest.mark.parametrize(
    "settings",
    [
        None,
        "gptq",
        [],
        {},
        {"quant_method": None},
        {"quant_method": 4},
        {"quant_method": "modelopt", "quant_algo": "W2A2"},
        {"quant_method": "modelopt", "quant_algo": ["FP8"]},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": []},
        {"quant_method": "compressed-tensors", "config_groups": {"a": None, "b": {"weights": 4}}},
        {"bits": 0},
        {"bits": 17},
        {"bits": True},
        {"bits": float("nan")},
    ],
)
def test_settings_without_a_method_are_not_detected(settings: Any) -> None:
    assert detect(settings) is None


@pytest.mark.parametrize(
    ("scheme", "tool"),
    [({"num_bits": 8, "type": "float"}, "compressed-tensors"), ({}, None), (None, None)],
)
def test_compressed_tensors_may_name_the_type_of_the_cache(scheme: Any, tool: str | None) -> None:
    groups = {"group_0": {"weights": {"num_bits": 4, "group_size": 128}}}
    stored = detect(
        {
            "quant_method": "compressed-tensors",
            "config_groups": groups,
            "kv_cache_scheme": scheme,
        }
    )
    assert stored == StoredQuantization("compressed-tensors", 4, 128, tool)


def test_model_optimizer_may_name_the_type_of_the_cache_by_a_specification() -> None:
    def cache(bits: int) -> str | None:
        scheme = {"num_bits": bits, "type": "float", "dynamic": False}
        stored = detect(
            {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_scheme": scheme}
        )
        assert stored is not None
        return stored.fp8_cache

    assert (cache(8), cache(4)) == ("modelopt", None)


AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4}}
GPTQ_FILE = {"quantize_config.json": {"bits": 4, "group_size": 128, "desc_act": True}}
LLAMA = {"model_type": "llama"}


def modelopt(**settings: Any) -> dict[str, Any]:
    """Return the file of its own that Model Optimizer writes."""
    return {"hf_quant_config.json": {"quantization": settings}}


@pytest.mark.parametrize(
    "config, files, expected",
    [
        (None, {}, None),
        ({"torch_dtype": "bfloat16"}, {}, None),
        ({"text_config": AWQ}, {}, StoredQuantization("awq", 4)),  # of a multimodal model
        ({"quantization": {"group_size": 32, "bits": 8}}, {}, StoredQuantization("mlx", 8, 32)),
        (LLAMA, GPTQ_FILE, StoredQuantization("gptq", 4, 128)),
        (AWQ, GPTQ_FILE, StoredQuantization("awq", 4)),  # the configuration comes first
        (LLAMA, modelopt(quant_algo="FP8"), StoredQuantization("modelopt", 8)),
        (
            LLAMA,
            modelopt(quant_algo="W4A16_AWQ", group_size=128),
            StoredQuantization("modelopt", 4, 128),
        ),
        (
            LLAMA,
            modelopt(quant_algo="NVFP4", kv_cache_quant_algo="FP8"),
            StoredQuantization("nvfp4", 4, 16, "modelopt"),
        ),
        (
            LLAMA,
            modelopt(quant_algo="FP8", kv_cache_quant_algo="NVFP4"),
            StoredQuantization("modelopt", 8),
        ),
        (LLAMA, {"hf_quant_config.json": {}}, None),
        (LLAMA, {"quantize_config.json": {}}, None),
        (LLAMA, {"adapter_config.json": {"bits": 4}}, None),
    ],
)
def test_the_configuration_and_the_files_beside_it(
    config: Any, files: dict[str, Any], expected: StoredQuantization | None
) -> None:
    assert detect_quantization(config, files) == expected


@pytest.mark.parametrize(
    ("name", "method", "bits"),
    [("exl2", "exl2", 4), ("exl3", "exl3", 3), ("hqq-4", "hqq", 4), ("torchao-int4", "torchao", 4)],
)
def test_layouts_that_speak_for_themselves(name: str, method: str, bits: int) -> None:
    profile = build_profile(llama(linear=ALL_LAYOUTS[name][0]))
    assert profile.parameters == 8_030_261_248
    assert profile.quantization == StoredQuantization(method, bits)


def test_plain_tensors_are_not_quantized() -> None:
    assert quantization_of_tensors([group("a.weight", (4, 4)), group("b_blocks", (4,))]) is None
    assert quantization_of_tensors([group("a.q_weight", (0, 0), dtype="I32")]) == (
        StoredQuantization("exl2", None)
    )


def test_unknown_methods_are_a_caveat() -> None:
    for settings in ({"quant_method": "vptq"}, {"quant_method": "newest", "bits": 3}):
        caveats = build_profile(tiny(config={"quantization_config": settings})).caveats
        assert "quantization_width_unknown" in [note.code for note in caveats]
