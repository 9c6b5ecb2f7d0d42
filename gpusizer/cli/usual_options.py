"""The options that `--help` tells of: what most people ask with. `--help-all` tells of all."""

from __future__ import annotations

from collections.abc import Mapping

_RUN = ("quant", "max_loss", "context", "concurrency", "kv_dtype", "engine", "ram_gb", "used_gb")

USUAL: Mapping[str, tuple[str, ...]] = {
    "size": (
        *("gpu", "gpu_count", "top", "rank_by", "min_tok_s", *_RUN),
        *("requests_per_second", "prompt_tokens", "answer_tokens", "ttft_ms", "max_usd"),
    ),
    "train": (
        *("gpu", "gpu_count", "top", "rank_by", "dataset_tokens", "epochs", "method"),
        *("sequence_length", "micro_batch", "optimizer", "precision", "framework", "lora_rank"),
        *("gradient_checkpointing", "sharding", "offload"),
    ),
    "compare": ("model", *_RUN, "usable_gb", "gpu_usd", "gpu_usd_per_hour", "usd_per_kwh"),
    "models-for": ("model_task", "license", "live", "from_disk", "rig", "top", "copies", *_RUN),
}
"""By the command; fields of its request."""
