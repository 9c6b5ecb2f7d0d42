"""Pasted logs: lines of any text, and what each engine's log says."""

from __future__ import annotations

import json

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.logs.lines import MAX_CHARS, MAX_LINES, clean, hub_id_of, read_text
from gpusizer.logs.parse import parse_log
from tests import engine_logs
from tests.log_facts import GIB, MIB, TABLE, amounts, facts

PREFIXES = {
    "docker compose": "vllm-1  | ",
    "journal": "Nov 20 15:00:00 host ollama[812]: ",
    "kubectl": "[pod/llm-0/main] 2025-10-01T10:00:00.000000000Z ",
    "colours": "\x1b[1;36m(x)\x1b[0;0m \x1b[32m",
}


@pytest.mark.parametrize("log", engine_logs.ALL.values())
@pytest.mark.parametrize("prefix", PREFIXES.values())
def test_prefixes_change_nothing(prefix: str, log: str) -> None:
    plain = parse_log(log)
    prefixed = parse_log("".join(f"{prefix}{line}\r\n" for line in log.splitlines()))
    assert amounts(prefixed) == amounts(plain)
    assert {r.name: r.value for r in (*prefixed.facts, *prefixed.settings)} == {
        r.name: r.value for r in (*plain.facts, *plain.settings)
    }


def test_json_lines_of_docker() -> None:
    lines = [json.dumps({"log": f"{line}\n"}) for line in engine_logs.OLLAMA.splitlines()]
    wrapped = "\n".join(line.replace('{"log": ', '{"log":') for line in lines)
    assert amounts(parse_log(wrapped)) == amounts(parse_log(engine_logs.OLLAMA))


@pytest.mark.parametrize(
    "line, engine",
    [
        ("Model loading took 15.25 GiB and 6.1 seconds", "vllm"),
        ("GPU KV cache size: 371,376 tokens", "vllm"),
        ("# GPU blocks: 9000, # CPU blocks: 2048", "vllm"),
        ("KV Cache is allocated. #tokens: 800000, KV size: 27.50 GB", "sglang"),
        ("load_tensors:        CUDA0 model buffer size =  4455.50 MiB", "llama.cpp"),
        ('time=x level=INFO source=a.go:1 msg="kv cache" device=CUDA0 size="1.5 GiB"', "ollama"),
    ],
)
def test_a_log_of_one_line_is_parsed(line: str, engine: str) -> None:
    parsed = parse_log(line)
    assert parsed.engine == engine and parsed.measured


def test_a_log_without_known_lines_is_an_error() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_log("GET / 200\nvLLM is nice\n")
    assert caught.value.fields["reason"] == "no_start_up_log"


def test_a_long_log_is_cut() -> None:
    parsed = parse_log(engine_logs.VLLM_V1 + "x\n" * (MAX_LINES + 1))
    assert parsed.cut and parsed.largest("weights_bytes") is not None
    assert not parse_log(engine_logs.VLLM_V1).cut
    assert read_text("x" * (MAX_CHARS + 1)).cut


def test_out_of_memory_is_an_outcome() -> None:
    failed = engine_logs.VLLM_V1 + (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 79.25 GiB of which 1.00 GiB is free.\n"
    )
    assert facts(parse_log(failed), "outcome", "gpu_memory_bytes") == {
        "outcome": "out_of_memory",
        "gpu_memory_bytes": 79.25 * GIB,
    }


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("gpt2", "gpt2"),
        ("org/name-GGUF:Q4_K_M", "org/name-GGUF:Q4_K_M"),
        ("/root/.cache/hub/models--org--na.me/snapshots/1f/x.gguf", "org/na.me"),
        ("/models/llama", None),
        ("./llama", None),
        ("C:\\models\\llama", None),
        ("a/b/c", None),
    ],
)
def test_hub_ids(text: str, expected: str | None) -> None:
    assert hub_id_of(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("hf_abcdefghijklmnopqrst", "[secret]"),
        ("api_key='sk-1234567890abcdef'", "[secret]'"),
        ("at 192.168.1.20:8000 now", "at [address] now"),
        ("ann@example.org", "[address]"),
        ("GPU-93e08bff-19ea-9448-3848", "[address]"),
        ("from /home/ann/x/m.gguf (", "from m.gguf ("),
        ("from C:\\Users\\Ann\\m.gguf", "from m.gguf"),
        ("a\u202eb`<script>", "a?b??script?"),
    ],
)
def test_personal_data_is_redacted(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_vllm_v1() -> None:
    parsed = parse_log(engine_logs.VLLM_V1)
    assert parsed.engine == "vllm"
    assert facts(parsed, "engine_version", "engine_generation", "model", "outcome") == {
        "engine_version": "0.11.0",
        "engine_generation": "V1",
        "model": "Qwen/Qwen3-8B",
        "outcome": "ran",
    }
    assert {r.name: r.value for r in parsed.settings} == {
        "max_model_len": 8192,
        "utilization": 0.85,
        "max_num_seqs": 64,
        "weight_dtype": "bfloat16",
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "enforce_eager": False,
        "kv_dtype": "auto",
    }
    assert amounts(parsed) == {
        ("weights_bytes", ""): 15.25 * GIB,
        ("free_at_start_bytes", ""): 79 * GIB,
        ("activations_bytes", ""): 1.5 * GIB,
        ("non_torch_bytes", ""): 0.25 * GIB,
        ("kv_pool_bytes", ""): 51 * GIB,
        ("kv_tokens", ""): 371_376,
        ("max_concurrency", ""): 45.33,
        ("graphs_bytes", ""): 0.5 * GIB,
    }


def test_every_amount_has_its_line_and_its_words() -> None:
    parsed = parse_log(engine_logs.VLLM_V1)
    lines = engine_logs.VLLM_V1.split("\n")
    for reading in parsed.measured:
        assert reading.quote in lines[reading.lines[0] - 1]
    weights = parsed.largest("weights_bytes")
    assert weights is not None
    # Printed to 0.0001 GiB first and to 0.01 GiB later: the finer stays. 107,374 = 2^30 / 10^4.
    assert (weights.lines, weights.step) == ((4,), 107_374)


def test_vllm_v0_keeps_ranks_apart() -> None:
    parsed = parse_log(engine_logs.VLLM_V0)
    assert facts(parsed, "engine_generation", "model", "model_path", "tensor_parallel") == {
        "engine_generation": "V0",
        "model": None,
        "model_path": "llama",
        "tensor_parallel": 2,
    }
    assert facts(parsed, "kv_dtype", "quantization", "utilization", "max_num_seqs") == {
        "kv_dtype": "fp8_e5m2",
        "quantization": "awq",
        "utilization": 0.9,
        "max_num_seqs": 128,
    }
    assert amounts(parsed) == {
        ("weights_bytes", ""): 2.5 * GIB,
        ("weights_bytes", "pid=77"): 2.75 * GIB,
        ("non_torch_bytes", ""): 0.25 * GIB,
        ("activations_bytes", ""): 0.5 * GIB,
        ("kv_pool_bytes", ""): round(18.35 * GIB),
        ("kv_blocks", ""): 9000,
        ("max_concurrency", ""): 35.16,
        ("graphs_bytes", ""): 0.25 * GIB,
    }
    largest = parsed.largest("weights_bytes")
    assert largest is not None and largest.device == "pid=77"
    assert parsed.get("gpu_memory_bytes") == 24 * GIB


def test_key_value_account_of_vllm_0_6_4() -> None:
    line = (
        "Memory profiling results: duration=2.00 seconds, total_gpu_memory=24.00GiB, "
        "initial_memory_usage=3.00GiB, peak_torch_memory=3.50GiB, "
        "memory_usage_post_profile=3.25GiB, non_torch_memory=0.25GiB, kv_cache_size=17.85GiB, "
        "gpu_memory_utilization=0.90"
    )
    start = "vLLM API server version 0.6.4\nLoading model weights took 2.5000 GB\n"
    parsed = parse_log(start + line)
    assert amounts(parsed) == {
        ("weights_bytes", ""): 2.5 * GIB,
        ("non_torch_bytes", ""): 0.25 * GIB,
        ("kv_pool_bytes", ""): round(17.85 * GIB),
        ("activations_bytes", ""): GIB,  # PyTorch's peak of 3.5 less the weights
    }
    assert facts(parsed, "gpu_memory_bytes", "utilization") == {
        "gpu_memory_bytes": 24 * GIB,
        "utilization": 0.9,
    }


def test_recent_vllm() -> None:
    parsed = parse_log(engine_logs.VLLM_RECENT)
    assert parsed.get("draft_model") and parsed.get("enforce_eager") is True
    assert parsed.get("draft_tokens") == 2 and parsed.get("prefix_caching") is False
    assert facts(parsed, "engine_version", "quantization", "kv_dtype", "utilization") == {
        "engine_version": "0.27.1",
        "quantization": "compressed-tensors",
        "kv_dtype": "fp8",
        "utilization": 0.92,
    }
    read = amounts(parsed)
    assert read["weights_bytes", "PP0_TP1"] == 10 * GIB
    assert read["weights_and_non_torch_bytes", ""] == 10.5 * GIB
    assert read["graphs_bytes", ""] == 0.5 * GIB
    assert read["graphs_estimated_bytes", ""] == 0.75 * GIB
    assert (read["kv_tokens", ""], read["max_concurrency", ""]) == (34_952, 2.13)


def test_sglang() -> None:
    parsed = parse_log(engine_logs.SGLANG)
    assert parsed.engine == "sglang"
    assert facts(parsed, "model", "tensor_parallel", "utilization", "max_model_len") == {
        "model": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
        "utilization": 0.86,
        "max_model_len": 16384,
    }
    read = amounts(parsed)
    assert (read["weights_bytes", "TP0"], read["weights_bytes", "TP1"]) == (7.75 * GIB, 8 * GIB)
    assert read["kv_pool_bytes", "TP0"] == 55 * GIB  # keys and values
    assert read["graphs_bytes", "TP0"] == 0.5 * GIB


def test_a_draft_model_is_a_load_of_its_own() -> None:
    parsed = parse_log(engine_logs.SGLANG_DRAFT)
    assert parsed.loads == 2
    assert amounts(parsed)["weights_bytes", "TP0"] == 7.75 * GIB
    assert amounts(parsed)["kv_pool_bytes", "TP0"] == 55 * GIB


def test_pools_of_windows_and_states() -> None:
    log = (
        "server_args=ServerArgs(model_path='a/b', tp_size=1)\n"
        "[x TP0] KV Cache is allocated. #tokens: 1000, KV size: 2.00 GB\n"
        "[x TP0] KV Cache is allocated. #tokens: 800, KV size: 1.00 GB\n"
        "[x TP0] SWAKVPool mem usage: 3.00 GB, swa size: 800, full size: 1000\n"
        "[x TP0] Mamba Cache is allocated. max_mamba_cache_size: 22, conv_state size: 0.50GB, "
        "ssm_state size: 3.25GB\n"
    )
    assert amounts(parse_log(log)) == {
        ("kv_tokens", "TP0"): 1000,
        ("kv_pool_bytes", "TP0"): 3 * GIB,
        ("recurrent_bytes", "TP0"): 3.75 * GIB,
    }


def test_llama_cpp() -> None:
    parsed = parse_log(engine_logs.LLAMA_CPP)
    assert parsed.engine == "llama.cpp"
    assert facts(parsed, "engine_version", "gpu", "gguf_file", "file_type") == {
        "engine_version": "6123",
        "gpu": "NVIDIA GeForce RTX 4090",
        "gguf_file": "Qwen3-8B-Q4_K_M.gguf",
        "file_type": "Q4_K - Medium",
    }
    assert facts(parsed, "context", "sequences", "batch", "ubatch", "flash_attention", "kv_k") == {
        "context": 8192,
        "sequences": 2,
        "batch": 2048,
        "ubatch": 512,
        "flash_attention": True,
        "kv_k": "f16",
    }
    assert amounts(parsed) == {
        ("weights_bytes", "CUDA0"): 4455.5 * MIB,
        ("weights_bytes", "CPU_Mapped"): 333.75 * MIB,
        ("output_bytes", "CUDA_Host"): 1.25 * MIB,
        ("kv_bytes", "CUDA0"): 1152 * MIB,
        ("compute_bytes", "CUDA0"): 304.75 * MIB,
        ("compute_bytes", "CUDA_Host"): 24 * MIB,
    }
    on_gpus = parsed.total("weights_bytes", gpus_only=True)
    assert on_gpus is not None and on_gpus.value == 4455.5 * MIB


def test_the_table_that_llama_cpp_prints_at_the_end() -> None:
    parsed = parse_log(TABLE)
    assert facts(parsed, "gpu", "gpu_memory_bytes") == {
        "gpu": "RTX 4090",
        "gpu_memory_bytes": 24077 * MIB,
    }
    assert amounts(parsed) == {
        ("weights_bytes", "CUDA0"): 17904 * MIB,
        ("context_bytes", "CUDA0"): 384 * MIB,
        ("compute_bytes", "CUDA0"): 899 * MIB,
    }
    both = amounts(parse_log(engine_logs.LLAMA_CPP + TABLE))
    assert both["weights_bytes", "CUDA0"] == 4455.5 * MIB  # the finer


def test_the_banner_of_vllm_starts_a_load() -> None:
    banner = (
        "(APIServer pid=1) INFO 07-02 21:27:15 [api_utils.py:339]  ▄▄ ▄█ █  █ ▀▄▀ █  version {}\n"
    )
    failed, log = banner.format("0.23.1rc1.dev5+ga65"), engine_logs.VLLM_RECENT
    parsed = parse_log(failed + log + failed)
    assert (parsed.loads, parsed.get("model")) == (2, "org/hybrid")


def test_llama_cpp_of_2024() -> None:
    parsed = parse_log(engine_logs.LLAMA_CPP_OLD)
    assert facts(parsed, "gpu", "gguf_file", "file_type", "gpu_layers", "flash_attention") == {
        "gpu": "Tesla T4",
        "gguf_file": "model.Q8_0.gguf",
        "file_type": "Q8_0",
        "gpu_layers": 20,
        "flash_attention": False,
    }
    assert amounts(parsed) == {
        ("weights_bytes", "CPU"): 3000.5 * MIB,
        ("weights_bytes", "CUDA0"): 4000.25 * MIB,
        ("kv_bytes", "CPU"): 192 * MIB,
        ("kv_bytes", "CUDA0"): 320 * MIB,
        ("compute_bytes", "CUDA0"): 296 * MIB,
    }


def test_caches_of_full_and_window_layers_are_summed() -> None:
    window = "llama_kv_cache:      CUDA0 KV buffer size =    97.50 MiB\n"
    parsed = parse_log(engine_logs.LLAMA_CPP + window)
    cache = parsed.all_of("kv_bytes")
    assert [(r.value, r.lines) for r in cache] == [(1249.5 * MIB, (17, 23))]


def test_ollama() -> None:
    parsed = parse_log(engine_logs.OLLAMA)
    assert parsed.engine == "ollama"
    assert facts(parsed, "engine_version", "gpu", "gpu_memory_bytes") == {
        "engine_version": "0.12.3",
        "gpu": "NVIDIA GeForce RTX 3060",
        "gpu_memory_bytes": 12 * GIB,
    }
    assert facts(parsed, "context", "sequences", "kv_k", "gpu_layers") == {
        "context": 16384,
        "sequences": 1,
        "kv_k": "q8_0",
        "gpu_layers": 29,
    }
    assert amounts(parsed) == {
        ("weights_bytes", "CUDA0"): 4 * GIB,
        ("kv_bytes", "CUDA0"): 1.5 * GIB,
        ("compute_bytes", "CUDA0"): 512 * MIB,
        ("total_used_bytes", ""): 6 * GIB,
    }


def test_ollama_of_early_2025_prefers_the_buffers_of_its_runner() -> None:
    parsed = parse_log(engine_logs.OLLAMA_OFFLOAD)
    assert facts(parsed, "context", "sequences", "layers_offered") == {
        "context": 8192,
        "sequences": 4,
        "layers_offered": 33,
    }
    assert amounts(parsed)["weights_bytes", "CUDA0"] == 4155.75 * MIB
    assert ("weights_bytes", "") not in amounts(parsed)
    assert amounts(parsed)["kv_bytes", ""] == GIB
