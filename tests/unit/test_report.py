"""The JSON that programs read: names fixed by the contract, numbers that add up."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.hub.card_statements import ModelCard, ModelCardStatement
from gpusizer.hub.model_ref import ModelRef
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.builders import llama
from tests.documents import written
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


def answer(**fields: Any) -> dict[str, Any]:
    """Return a report after a trip through JSON text."""
    sized = size(SIZER, {"model": "meta-llama/Llama-3.1-8B", **fields})
    parsed: dict[str, Any] = json.loads(json.dumps(written(sized), allow_nan=False))
    return parsed


def test_the_contract_numbers_of_llama_3_1_8b() -> None:
    model = answer()["model"]
    assert model["parameters"] == model["active_parameters"] == 8_030_261_248
    assert model["stored_parameters_by_dtype"] == {"BF16": 8_030_261_248}
    assert model["weight_bytes"] == 16_060_522_496
    assert model["tensor_count"] == 291
    assert model["kv_cache_bytes_per_token"] == 131_072
    assert (model["gated"], model["source"]) == (True, "snapshot")


def test_parts_add_up_and_bytes_are_integers() -> None:
    for estimate in answer(concurrency=4)["estimates"]:
        for place in (estimate, estimate["per_gpu"]):
            parts = ("weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes")
            assert all(isinstance(place[part], int) for part in parts)
            assert sum(place[part] for part in parts) == place["total_bytes"]
        assert estimate["low_bytes"] <= estimate["total_bytes"] <= estimate["high_bytes"]


def test_a_named_gpu_adds_its_capacity() -> None:
    data = answer(gpu="4090", quant="bf16", context=4096)
    capacity = data["estimates"][0]["capacity"]
    # all layers are full attention: a pool token is 131,072 bytes
    # and their number is not rounded with the sequences: 0.01 of a sequence are 41 tokens
    assert capacity["kv_cache_pool_tokens"] == pytest.approx(
        capacity["kv_cache_pool_bytes"] / 131_072, abs=1
    )
    assert capacity["max_concurrency"] == pytest.approx(
        capacity["kv_cache_pool_tokens"] / 4096, abs=0.01
    )
    assert "capacity" not in answer()["estimates"][0]


def test_the_request_is_echoed_with_its_defaults() -> None:
    workload = answer(quant="q4_k_m,bf16", concurrency=3)["workload"]
    assert workload["context"] == 8192
    assert workload["concurrency"] == 3
    assert workload["quant"] == ["q4_k_m", "bf16"]
    assert workload["kv_dtype"] == "auto"


def test_a_context_beyond_the_model_is_shortened_with_a_note() -> None:
    data = answer(context=1_000_000)
    assert data["workload"]["context"] == 131_072
    assert [note["code"] for note in data["notes"]] == ["context_shortened"]


def test_a_longer_context_by_yarn_is_named_where_the_card_does() -> None:
    said = ModelCardStatement("context", 1, 1, "", context=131_072, native_context=32_768)
    snapshot = embedded_sizer().fetch(ModelRef("Qwen/Qwen3-8B"))
    carded = replace(snapshot, card=ModelCard("", (said,)))
    sizer = embedded_sizer().reading(lambda ref: carded)

    def found(**fields: Any) -> dict[str, Any]:
        report = size(sizer, {"model": "Qwen/Qwen3-8B", **fields})
        return {note.code: note.fields for note in report.notes}

    stretched = {"longest": 131_072, "original": 32_768}
    assert found(context=100_000)["context_by_yarn"] == stretched
    counted = found(context=100_000, engine="llama.cpp")
    assert {"context_by_yarn", "context_beyond_model"} <= counted.keys()
    assert "context_by_yarn" not in found(context=40_960)


def test_engines_treat_a_context_beyond_the_model_each_in_their_way() -> None:
    """Llama-3.1-8B: 131,072 bytes a token; llama.cpp reserves all that is asked for."""
    llama_cpp = answer(quant="q8_0", engine="llama.cpp", context=262_144)
    assert llama_cpp["estimates"][0]["kv_cache_bytes"] == 262_144 * 131_072
    assert llama_cpp["notes"] == [
        {**llama_cpp["notes"][0], "code": "context_beyond_model"},
    ]
    assert llama_cpp["notes"][0]["fields"] == {"asked": 262_144, "longest": 131_072}
    ollama = answer(quant="q8_0", engine="ollama", context=262_144)
    assert ollama["workload"]["context"] == 131_072
    assert "context_shortened" in [note["code"] for note in ollama["notes"]]
    with pytest.raises(InvalidRequest) as refused:
        answer(quant="bf16", engine="vllm", context=262_144)
    assert refused.value.fields["reason"] == "beyond_the_model"


def test_vllm_takes_what_the_configuration_stretches_to() -> None:
    """Four times 32,768 positions by YaRN."""
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}
    stretched = llama(context=32_768, config={"rope_scaling": scaling})
    sizer = Sizer(lambda ref: stretched, load_catalogue())
    fields = {"model": "org/model", "quant": "bf16", "engine": "vllm", "max_watts": 1}
    assert size(sizer, {**fields, "context": 131_072}).workload.context == 131_072
    with pytest.raises(InvalidRequest):
        size(sizer, {**fields, "context": 131_073})


def test_a_gguf_file_holds_its_vocabulary_and_part_of_it_stays_on_the_host() -> None:
    row = answer(quant="q8_0", engine="llama.cpp")["estimates"][0]
    loaded = row["weights_bytes"] + row["host_bytes"]
    assert row["file_bytes"] - loaded == 128_256 * 61
    assert row["host_bytes"] == 128_256 * 4096 * 34 // 32
    stored = answer(quant="native", engine="tgi")["estimates"][0]
    assert (stored["file_bytes"], stored["host_bytes"]) == (stored["weights_bytes"], 0)


def test_quantized_values_without_flash_attention_are_warned_of() -> None:
    codes = [
        [note["code"] for note in answer(kv_dtype=kind, flash_attention=False)["notes"]]
        for kind in ("q8_0", "f16/q4_0", "q8_0/f16", "f16")
    ]
    assert codes == [["quantized_values_need_flash_attention"]] * 2 + [[], []]


def test_ollama_has_a_default_context_of_its_own() -> None:
    note = answer(quant="q8_0", engine="ollama", context=8192)["notes"][0]
    assert (note["code"], note["fields"]) == ("ollama_num_ctx", {"tokens": 8192, "default": 4096})
    assert answer(quant="q8_0", engine="ollama", context=4096)["notes"] == []


def test_llama_cpp_runs_a_sixteen_bit_checkpoint_as_gguf() -> None:
    """Norms become FP32: 65 of 4096 values, two bytes each more than in the repository."""
    stored = answer(quant="bf16", engine="tgi")["estimates"][0]
    converted = answer(quant="bf16", engine="llama.cpp")["estimates"][0]
    assert (stored["native"], converted["native"]) == (True, False)
    grown = converted["weights_bytes"] + converted["host_bytes"] - stored["weights_bytes"]
    assert grown == 65 * 4096 * 2


def test_fields_without_effect_are_named() -> None:
    notes = answer(engine_version="3", gpu_layers=20, engine="tgi")["notes"]
    assert notes[0]["code"] == "not_modelled"
    assert notes[0]["fields"] == {"facts": "engine_version, gpu_layers"}
    none = answer(gpu_layers=0, engine="tgi")["notes"]
    assert none[0]["fields"] == {"facts": "gpu_layers"}


def test_the_version_of_an_engine_that_has_versions_is_used() -> None:
    old = answer(engine="vllm", engine_version="0.6.3")
    assert old["notes"] == []
    assert {row["engine_version"] for row in old["estimates"]} == {"0.6.3"}
    new = answer(engine="vllm")["estimates"][0]
    # V0 measures whole prompts and keeps no experts' workspace; 0.90 was its default
    assert old["estimates"][0]["activations_bytes"] != new["activations_bytes"]
    ignored = answer(engine="tgi", engine_version="3", text_only=True)
    assert ignored["notes"][0]["fields"] == {"facts": "engine_version, text_only"}
    assert answer(engine="vllm", text_only=True, draft_tokens=1)["notes"] == []
    build = answer(engine="llama.cpp", engine_version="b4905", text_only=True, draft_tokens=1)
    assert build["notes"] == []
    assert {row["engine_version"] for row in build["estimates"]} == {"b4905"}


@pytest.mark.parametrize(
    "quants, slugs",
    [
        ("native", ["bf16"]),
        ("Q4_K_M", ["q4_k_m"]),
        ("fp16", ["bf16"]),
        ("exl2-4.25", ["exl2-4.25"]),
        (["q8_0", "mlx-4bit"], ["q8_0", "mlx-4bit"]),
    ],
)
def test_requested_quantizations(quants: Any, slugs: list[str]) -> None:
    assert [estimate["quant"] for estimate in answer(quant=quants)["estimates"]] == slugs


def test_all_quantizations_go_from_faithful_to_small() -> None:
    data = answer()["estimates"]
    assert len(data) >= 30
    assert [estimate["native"] for estimate in data].count(True) == 1
    widths = [estimate["bits_per_weight"] for estimate in data if estimate["engine"] == "llama.cpp"]
    assert widths == sorted(widths, reverse=True)


def test_an_engine_limits_the_rows_to_what_it_runs() -> None:
    assert {row["quant"] for row in answer(engine="mlx")["estimates"]} == {
        "bf16",
        "mlx-8bit",
        "mlx-6bit",
        "mlx-4bit",
    }
    assert {row["engine"] for row in answer(engine="Ollama")["estimates"]} == {"ollama"}


def test_an_engine_that_does_not_run_the_quantization_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        answer(engine="mlx", quant="gptq-int4-g128")
    assert caught.value.fields["reason"] == "does_not_run"


def test_a_pipeline_is_sized_by_what_diffusers_runs() -> None:
    data = written(size(SIZER, {"model": "black-forest-labs/FLUX.1-dev"}))
    assert {row["engine"] for row in data["estimates"]} == {"diffusers"}
    names = {component["name"] for component in data["model"]["components"]}
    assert names == {"transformer", "text_encoder", "text_encoder_2", "vae"}
    assert data["model"]["parameters"] == 16_870_599_139
    assert data["ranking"]


def test_prices_are_of_all_boards_and_unknown_stays_null() -> None:
    price = answer(gpu="2x4090")["ranking"][0]["price"]
    assert (price["buy_usd"], price["buy_basis"]) == (5268.5, "street")
    assert price["buy_condition"] == "used"
    assert (price["buy_low_usd"], price["buy_high_usd"]) == (4724, 8200)
    assert len(price["buy_addresses"]) >= len(price["buy_providers"]) == 4
    assert price["as_of"].startswith("2026")
    unknown = answer(gpu="Ascend 910B")["ranking"][0]["price"]
    assert unknown["buy_usd"] is None and unknown["as_of"] is None
    assert unknown["buy_addresses"] == [] and unknown["similar_usd"] is None
    estimated = answer(gpu="2xA10G")["ranking"][0]["price"]
    assert estimated["buy_usd"] is None and estimated["break_even_months"] is None
    assert estimated["similar_usd"] == pytest.approx(2 * 5046.57)
    assert len(estimated["similar_gpus"]) == 5


def test_vllms_first_scheduler_is_not_modelled_for_every_model() -> None:
    def codes(model: str, version: str) -> list[str]:
        sized = answer(model=model, engine="vllm", engine_version=version)
        return [note["code"] for note in sized["notes"]]

    assert codes("ybelkada/llava-1.5-7b-hf-awq", "0.7.3") == ["first_scheduler"]
    assert codes("ybelkada/llava-1.5-7b-hf-awq", "0.11.0") == []
    assert codes("meta-llama/Llama-3.1-8B", "0.7.3") == []


@pytest.mark.parametrize(
    "model, gpu, engine, code",
    [
        ("Qwen/Qwen3-8B", "h100", "vllm", "answer_taken_one"),
        ("Qwen/Qwen3-8B", "2x 3090", "sglang", "answer_taken_each"),
        ("Qwen/Qwen3-8B", "h100", "tensorrt-llm", "answer_taken_one"),
        ("Qwen/Qwen3-8B", "h100", "tgi", "answer_filled_one"),  # its option is of something else
        ("Qwen/Qwen3-8B", "4090", "llama.cpp", "answer_free_one"),
        ("BAAI/bge-large-en-v1.5", "4090", "vllm", "answer_free_one"),  # keeps no cache to fill
    ],
)
def test_an_engine_that_takes_a_share_says_so(model: str, gpu: str, engine: str, code: str) -> None:
    asked = {"model": model, "gpu": gpu, "engine": engine, "context": 512}
    answer = size(embedded_sizer(), asked)
    note = answer.conclusion.said[2]
    assert note.code == code
    if code.startswith("answer_free"):
        return
    taken, memory, free = (note.fields[f"{k}_bytes"] for k in ("taken", "memory", "free"))
    assert isinstance(taken, int) and isinstance(memory, int) and isinstance(free, int)
    assert 0.8 * memory < taken <= memory and free == memory - taken


@pytest.mark.parametrize(
    "gpu, engine", [("1x h100", "vllm"), ("2x 3090", "sglang"), ("1x h100", "tensorrt-llm")]
)
def test_the_share_that_is_said_to_be_enough_is_the_least_that_is(gpu: str, engine: str) -> None:
    model = "meta-llama/Llama-3.1-8B-Instruct"
    asked = {"model": model, "gpu": gpu, "engine": engine, "context": 100_000}
    first = size(embedded_sizer(), asked)
    (said,) = (note.fields["share"] for note in first.conclusion.said if "share" in note.fields)
    share = float(str(said))
    told = {**asked, "quant": first.ranking[0].fit.estimate.quant.slug}
    (again,) = size(embedded_sizer(), {**told, "memory_utilization": share}).ranking
    assert again.fit.verdict is Verdict.FITS
    less = size(embedded_sizer(), {**told, "memory_utilization": round(share - 0.01, 2)})
    assert less.ranking[0].fit.verdict is not Verdict.FITS
