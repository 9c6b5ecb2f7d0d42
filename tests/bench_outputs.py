"""Output of llama-bench, made up in its form."""

from __future__ import annotations

import json
from typing import Any

CARD = "NVIDIA GeForce RTX 4090"
SETTINGS: dict[str, Any] = {
    "build_commit": "0123abcd",
    "build_number": 6200,
    "cpu_info": "A processor",
    "gpu_info": CARD,
    "backends": "CUDA",
    "model_filename": "/home/ann/models/Qwen3-8B-Q4_K_M.gguf",
    "model_type": "qwen3 8B Q4_K - Medium",
    "model_size": 5_021_782_016,
    "model_n_params": 8_190_735_360,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_threads": 8,
    "cpu_mask": "0x0",
    "cpu_strict": False,
    "poll": 50,
    "type_k": "f16",
    "type_v": "f16",
    "n_gpu_layers": 99,
    "n_cpu_moe": 0,
    "split_mode": "layer",
    "main_gpu": 0,
    "no_kv_offload": False,
    "flash_attn": 1,
    "devices": "auto",
    "tensor_split": "0.00",
    "tensor_buft_overrides": "none",
    "load_mode": "mmap",
    "embeddings": False,
    "no_op_offload": 0,
    "no_host": False,
    "fit_target": 0,
    "fit_min_ctx": 0,
}


def llama_bench(*tests: tuple[int, int, int, float], **changes: Any) -> str:
    """Return the output of `llama-bench -o json`: (prompt, answer, depth, tokens per second)."""
    rows = []
    for prompt, answer, depth, rate in tests:
        nanoseconds = round(1e9 * (prompt + answer) / rate)
        rows.append(
            SETTINGS
            | {"n_prompt": prompt, "n_gen": answer, "n_depth": depth}
            | {"test_time": "2026-05-01T10:00:00Z", "avg_ns": nanoseconds, "stddev_ns": 1000}
            | {"avg_ts": rate, "stddev_ts": 0.5}
            | {"samples_ns": [nanoseconds], "samples_ts": [rate]}
            | changes
        )
    return "[\n" + ",\n".join(json.dumps(row, indent=2) for row in rows) + "\n]\n"
