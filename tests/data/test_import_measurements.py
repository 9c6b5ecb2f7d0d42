"""The converters copy facts of logs, and never text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import import_measurements
from scripts.measurement_rows import quality
from scripts.measurement_rows.common import ModelMap, source_group, source_url

GIB, MIB = 2**30, 2**20
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
URL = "https://github.com/me/logs/blob/abc/run.log"
SECRET = "Loading took 14.99 GiB on host my-machine"

SERVING: dict[str, Any] = {
    "id": "log-1",
    "source_url": URL,
    "date": "2026-04",
    "engine": "vLLM",
    "engine_version": "0.11-0.16 era (V1; image v0.11.0)",
    "model_id": LLAMA,
    "quantization": None,
    "weight_dtype": "bfloat16",
    "gpu": "H100 80GB (a guess)",
    "gpu_mem_gib": 79.19,
    "num_gpus": 2,
    "tp": 2,
    "pp": 1,
    "ep": None,
    "max_model_len": 8192,
    "gpu_memory_utilization": 0.9,
    "kv_cache_dtype": "auto",
    "block_size": 16,
    "max_num_seqs": None,
    "confidence": "high",
    "verbatim": SECRET,
    "notes": "negative KV budget",
    "mm_profile": "encoder budget 2048 tokens, 3 image items",
    "measured": {"weights_gib_per_gpu": 7.5, "kv_cache_gib_per_gpu": -1.0},
    "derived": {"kv_bytes_per_token_per_gpu": 65536.0, "kv_bpt_rel_rounding": 1e-4},
}
LLAMA_CPP: dict[str, Any] = {
    "id": "run-1",
    "measure_kind": "buffer lines",
    "source_url": URL,
    "date": "2025-01-02",
    "engine": "ik_llama.cpp",
    "build": "b1 (abc)",
    "model_name": "Llama",
    "model_id": LLAMA,
    "quant": "Q4_K_M",
    "tensor_type_counts": {"f32": 66, "q4_K": 193, "q6_K": 33},
    "ctx": 4096,
    "n_ubatch": 512,
    "kv_type": {"k": "f16", "v": "f16"},
    "flash_attn": True,
    "backend": ["CUDA"],
    "gpus": ["RTX 3090", "RTX 3090"],
    "ngl": "33/33",
    "confidence": "high",
    "verbatim": [SECRET],
    "notes": SECRET,
    "cmd": SECRET,
    "measured": {"weights_mib": {"CUDA0": 4000.0, "CUDA_Host": 300.5}, "weights_total_mib": 4300.5},
}
SIZE: dict[str, Any] = {
    "id": "sz-1",
    "model_name": "Llama",
    "model_id": LLAMA,
    "gguf_file": "a-Q4_K_M.gguf",
    "quant": "Q4_K_M",
    "kind": "file",
    "exact": False,
    "size_gib": 4.58,
    "rounding": "0.01 GiB",
    "source_url": f"{URL} (seen in May)",
    "notes": SECRET,
}


@pytest.fixture
def models(tmp_path: Path) -> ModelMap:
    """A map of repository IDs and one other spelling."""
    path = tmp_path / "map.csv"
    path.write_text(f"log_model_id,corpus_id,basis\nllama 8b,{LLAMA},guess: size fits\n", "utf-8")
    return ModelMap(path)


def converted(row: dict[str, Any], models: ModelMap) -> dict[str, Any]:
    """Convert a source row; the result has none of its texts."""
    _, rows = import_measurements.convert_all([row], models)
    assert SECRET not in json.dumps(rows)
    return rows[0]


def test_a_serving_log(models: ModelMap) -> None:
    row = converted(SERVING, models)
    assert (row["engine_version_from"], row["engine_version"]) == ("0.11", "0.16")
    assert (row["engine_generation"], row["gpu"], row["gpu_class_gb"]) == ("V1", "H100 80GB", 80)
    assert (row["outcome"], row["quant"], row["encoder_tokens"]) == (
        "out_of_memory",
        "native",
        2048,
    )
    assert row["measured"] == {
        "weights_bytes": round(7.5 * GIB),
        "kv_pool_bytes": -GIB,
        "kv_bytes_per_token": 65536.0,
        "kv_bytes_per_token_rounding": 1e-4,
    }
    assert "max_num_seqs" not in row


def test_circumstances_are_read_from_the_notes(models: ModelMap) -> None:
    notes = "pooling runner; images/videos limited to 0"
    assert converted({**SERVING, "notes": notes}, models)["flags"] == ["text_only", "pooling"]


def test_facts_that_the_collectors_left_out(models: ModelMap) -> None:
    row = converted({**SERVING, "id": "nb-unsloth-amd-mistral-v0-3-7b-grpo"}, models)
    assert (row["gpu"], row["utilization"]) == ("RTX 4090", 0.5893)
    assert (row["max_num_seqs"], row["max_num_batched_tokens"]) == (224, 1024)
    assert row["measured"]["max_concurrency"] == 76.25


@pytest.mark.parametrize(
    ("change", "quant"),
    [
        ({"quantization": "fp8"}, "fp8"),
        ({"weight_dtype": "float32"}, "fp32"),
        ({"model_id": "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "quantization": "fp8"}, "native"),
    ],
)
def test_the_quantization_of_a_serving_run(
    change: dict[str, Any], quant: str, models: ModelMap
) -> None:
    assert converted({**SERVING, **change}, models)["quant"] == quant


def test_models_are_found_by_id_guess_or_file(models: ModelMap) -> None:
    guessed = converted({**SERVING, "model_id": None, "model_guess": "llama 8b"}, models)
    assert (guessed["profile"], guessed["profile_basis"]) == (LLAMA, "inferred")
    by_file_name = models.by_file("someone/Llama-3.1-8B-Instruct-GGUF")
    assert by_file_name is not None
    assert (by_file_name.profile, by_file_name.basis) == (LLAMA, "file_name")
    unknown = {**SERVING, "model_id": "nobody/nothing"}
    assert import_measurements.convert_all([unknown], models)[1] == []


def test_an_allocation_log(models: ModelMap) -> None:
    row = converted(LLAMA_CPP, models)
    assert (row["program"], row["measure_kind"], row["offload"]) == (
        "ik_llama.cpp",
        "buffers",
        "all",
    )
    assert (row["quant"], row["gpu_count"], row["build"]) == ("Q4_K_M", 2, "b1")
    assert row["measured"]["weights_by_device"] == {"CUDA0": 4000 * MIB, "CUDA_Host": 315097088}


@pytest.mark.parametrize(
    ("label", "types", "expected_label"),
    [
        ("Q8_0", {"f32": 9, "iq3_k": 5, "q8_0": 20}, None),
        ("Q2_K", {"q2_K": 5, "q4_K": 20}, None),
        ("Q2_K", {"q2_K": 20, "q4_K": 5}, "Q2_K"),
        (None, {"f32": 9, "bf16": 30}, "BF16"),
        ("UD-Q4_K_XL", {"q8_0": 30, "q4_K": 5}, "UD-Q4_K_XL"),
    ],
)
def test_labels_that_the_tensors_contradict_are_dropped(
    label: str | None, types: dict[str, int], expected_label: str | None, models: ModelMap
) -> None:
    row = converted({**LLAMA_CPP, "quant": label, "tensor_type_counts": types}, models)
    assert row.get("quant") == expected_label


def test_a_published_size(models: ModelMap) -> None:
    row = converted(SIZE, models)
    assert (row["bytes"], row["rounding_bytes"]) == (round(4.58 * GIB), round(0.01 * GIB))
    assert (row["source_url"], row["counts"]) == (URL, "file")
    coarse = {**SIZE, "rounding": "0.1 GiB"}
    assert import_measurements.convert_all([coarse], models)[1] == []


def test_the_repository_of_a_file_is_named_or_in_its_address(models: ModelMap) -> None:
    address = "https://huggingface.co/{}/resolve/main/a-Q4_K_M.gguf"
    row = converted({**SIZE, "gguf_url": address.format("bartowski/Llama-GGUF")}, models)
    assert row["gguf_repo"] == "bartowski/Llama-GGUF"
    with_repo = {**SIZE, "gguf_repo": "me/Llama-GGUF", "gguf_url": address.format("you/Llama")}
    assert converted(with_repo, models)["gguf_repo"] == "me/Llama-GGUF"
    on_other_host = {**SIZE, "gguf_url": "https://gpt4all.io/models/gguf/a-Q4_K_M.gguf"}
    assert "gguf_repo" not in converted(on_other_host, models)


def test_sources() -> None:
    assert source_url("a file nobody can open") is None
    assert source_group(URL) == "me/logs"
    assert source_group("https://blog.example.org/a/b") == "blog.example.org"


def test_the_command_writes_one_table_per_kind(
    tmp_path: Path, models: ModelMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "logs.jsonl"
    source.write_text(json.dumps(SIZE), "utf-8")
    command = ["import_measurements", str(source), "--models", str(tmp_path / "map.csv")]
    monkeypatch.setattr("sys.argv", [*command, "--output", str(tmp_path / "out")])
    import_measurements.main()
    lines = (tmp_path / "out" / "gguf_sizes.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["sz-1"]


QUALITY: dict[str, Any] = {
    "id": "qq-1",
    "source": URL,
    "source_group": "me",
    "date": "2026-01",
    "model": "Qwen/Qwen3.5-9B",
    "family": "qwen3.5",
    "parameters_b": 8.95,
    "model_released": "2026-03",
    "quantization": "q4_k_m",
    "format": "gguf",
    "method": "gguf",
    "bits_per_weight": 5.25,
    "bpw_scope": "file",
    "imatrix": "yes",
    "about": "weights",
    "metric": "ppl_wikitext2",
    "setup": "wiki.test, n_ctx 512",
    "higher_is_better": False,
    "value": 8.2,
    "baseline_quantization": "bf16",
    "baseline_value": 8.1,
    "ln_ratio": 0.01227,
    "maker": "bartowski",
    "notes": SECRET,
}


def test_a_loss_keeps_its_reference_and_no_text(models: ModelMap) -> None:
    assert import_measurements.convert_all([QUALITY], models)[0] == "quality.jsonl"
    row = converted(QUALITY, models)
    assert row["quant"] == "q4_k_m" and row["family"] == "k"
    assert row["parameters"] == 8_950_000_000
    assert row["importance_matrix"] is True and "flags" not in row
    assert (row["value"], row["baseline"], row["baseline_value"]) == (8.2, "bf16", 8.1)


@pytest.mark.parametrize(
    ("file_format", "name", "slug", "family"),
    [
        ("gguf", "ud-q4_k_xl", "ud-q4_k_xl", "k"),
        ("gguf", "iq3_xxs", "iq3_xxs", "iq"),
        ("gguf", "q4_k-pure", "q4_k-pure", "pure"),
        ("gguf", "thireus-mix", "thireus-mix", "tuned"),
        ("fp8", "fp8-w8a8-rowwise", "fp8", "fp8"),
        ("int8", "int8-w8a8-smoothquant", "int8", "int8_activations"),
        ("gptq", "gptq-int4-g128", "gptq-int4-g128", "calibrated"),
        ("rtn", "rtn-int4-g128", "rtn-int4-g128", "rounded"),
        ("bitsandbytes", "nf4", "bnb-nf4", "rounded"),
        ("exl2", "exl2-4.25bpw", "exl2-4.25", "exl2"),
        ("other", "omniquant-int2-g128", "omniquant-int2-g128", "other"),
    ],
)
def test_names_of_quantizations_become_slugs_and_families(
    file_format: str, name: str, slug: str, family: str
) -> None:
    assert (quality.slug_of(name), quality.family_of(file_format, name)) == (slug, family)


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"method": "paretoq"}, "trained"),
        ({"baseline_quantization": "mix-6.81bpw (highest measured)"}, "lossy_baseline"),
        ({"notes": "perplexity of this model is unreliable"}, "noisy_baseline"),
    ],
)
def test_a_loss_says_why_it_is_no_evidence(
    changes: dict[str, Any], flag: str, models: ModelMap
) -> None:
    assert converted({**QUALITY, **changes}, models)["flags"] == [flag]
