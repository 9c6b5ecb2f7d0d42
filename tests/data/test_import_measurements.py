"""The converters copy facts of logs, and never text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts import import_measurements
from scripts.measurement_rows.common import ModelMap

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


def test_a_published_size(models: ModelMap) -> None:
    row = converted(SIZE, models)
    assert (row["bytes"], row["rounding_bytes"]) == (round(4.58 * GIB), round(0.01 * GIB))
    assert (row["source_url"], row["counts"]) == (URL, "file")
    coarse = {**SIZE, "rounding": "0.1 GiB"}
    assert import_measurements.convert_all([coarse], models)[1] == []


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


ONE_USER: dict[str, Any] = {
    "id": "hbm-1",
    "source_url": URL,
    "source_group": "me's laboratory",
    "model": LLAMA,
    "quant": "fp16",
    "engine": "vllm",
    "engine_version": "0.20.1",
    "gpu": "h100-sxm-80gb",
    "gpu_count": 2,
    "tensor_parallel": 2,
    "context": 590,
    "prompt_tokens": 280,
    "generated_tokens": 310,
    "concurrency": 1,
    "tok_s": 200.5,
    "date": "2026-05-06",
    "how": SECRET,
}


def test_a_speed_of_one_user_keeps_its_settings_and_no_text(models: ModelMap) -> None:
    assert import_measurements.convert_all([ONE_USER], models)[0] == "throughput.jsonl"
    row = converted(ONE_USER, models)
    assert (row["quant"], row["split"], row["engine_version"]) == ("bf16", "tensor", "0.20.1")
    assert row["measured"] == {"decode_tokens_per_second": 200.5}
    layers = {name: value for name, value in ONE_USER.items() if name != "tensor_parallel"}
    assert converted(layers, models)["split"] == "layer"


def test_speeds_out_of_line_or_of_unknown_cards_are_left_out(models: ModelMap) -> None:
    for change in ({"flags": ["out of line"]}, {"gpu": "abacus"}, {"model": "me/unknown"}):
        assert import_measurements.convert_all([{**ONE_USER, **change}], models)[1] == []
