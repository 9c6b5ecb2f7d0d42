"""Converts decoding speeds of one user, settings stated, to rows of `throughput.jsonl`."""

from __future__ import annotations

import hashlib

from gpusizer.core.errors import UnknownGpu
from gpusizer.gpus import load_catalogue
from scripts.measurement_rows.common import Match, ModelMap, Row, compact, source_url

_QUANTS = {"fp16": "bf16", "mxfp4": "mxfp4_moe"}
_SAME_SHAPES = {
    "meta-llama/Llama-3.1-70B-Instruct": "meta-llama/Llama-3.3-70B-Instruct",
    "Qwen/Qwen3.5-35B-A3B": "Qwen/Qwen3.6-35B-A3B",
    "Qwen/Qwen3.6-27B": "Qwen/Qwen3.6-27B-FP8",
    "Qwen/Qwen3-Next-80B-A3B-Instruct": "Qwen/Qwen3-Coder-Next",
}
"""Models without a snapshot of their own -> a release of the same shapes."""
_SETTINGS = ("engine", "engine_version", "backend", "gpu", "gpu_count", "quant", "context")


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model or a card of the catalogue, and for rows that their
    collector found out of line with their own source."""
    match = models.find(run["model"])
    if match is None and run["model"] in _SAME_SHAPES:
        match = Match(_SAME_SHAPES[run["model"]], "same_shapes")
    url = source_url(run["source_url"])
    if match is None or url is None or run.get("flags"):
        return None
    try:
        gpu = load_catalogue().find(run["gpu"]).slug
    except UnknownGpu:
        return None
    setting = "|".join(str(run.get(name, "")) for name in ("source_group", "model", *_SETTINGS))
    several = run["gpu_count"] > 1
    run_text = f"{setting}|{url}|{run['tok_s']}"
    return compact(
        {
            "kind": "throughput",
            "id": f"one-user-{_digest(run_text)}",
            "dup_group": f"one-user-{_digest(setting)}",
            "source_group": run["source_group"],
            "source_url": url,
            "date": run["date"],
            "confidence": "high",
            "repo": run["model"],
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": run["engine"],
            "front_end": run["engine"],
            "engine_version": run.get("engine_version"),
            "backend": run.get("backend"),
            "quant": _QUANTS.get(run["quant"], run["quant"]),
            "quantization": run["quant"],
            "gpu": run["gpu"],
            "gpu_slug": gpu,
            "gpu_count": run["gpu_count"],
            "split": ("tensor" if run.get("tensor_parallel") else "layer") if several else None,
            "context": run["context"],
            "concurrency": run["concurrency"],
            "prompt_tokens": run.get("prompt_tokens"),
            "generated_tokens": run.get("generated_tokens"),
            "measured": {"decode_tokens_per_second": run["tok_s"]},
        }
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
