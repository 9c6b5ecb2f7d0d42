"""Converts measured runs of servers under load to rows of `serving_load.jsonl`."""

from __future__ import annotations

import re
from functools import cache

from gpusizer.core.errors import UnknownGpu
from gpusizer.gpus import load_catalogue
from scripts.measurement_rows.common import Match, ModelMap, Row, compact

_ENGINES = {"vLLM": "vllm", "SGLang": "sglang", "TensorRT-LLM": "tensorrt-llm"}
_QUANTS = {
    "fp16": "bf16",
    "bf16": "bf16",
    "fp8": "fp8",
    "fp8-dynamic": "fp8",
    "fp8-static": "fp8",
    "int8-w8a8": "int8",
    "int8-w8a16": "gptq-int8-g128",
    "gptq-int8": "gptq-int8-g128",
    "gptq-int4": "gptq-int4-g128",
    "autoround-int4": "gptq-int4-g128",
    "awq-int4": "awq-int4-g128",
    "compressed-tensors-int4-g32-symmetric": "gptq-int4-g32",
    "int4": "native",
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
}
"""Labels of formats -> slugs; whole numbers without a group size as of 128."""

_SAME_SHAPES = {
    "nvidia/Kimi-K2.5-NVFP4": "moonshotai/Kimi-K2.5",
    "deepseek-ai/DeepSeek-R1-0528": "deepseek-ai/DeepSeek-R1",
    "amd/DeepSeek-R1-0528-MXFP4": "deepseek-ai/DeepSeek-R1",
    "meta-llama/Meta-Llama-3-70B-Instruct": "meta-llama/Meta-Llama-3-70B",
    "lukealonso/GLM-5.1-NVFP4-MTP": "zai-org/GLM-5.1",
    "zai-org/GLM-5-FP8": "zai-org/GLM-5.1",
    "zai-org/GLM-5.2-FP8": "zai-org/GLM-5.2",
    "Qwen/Qwen2-7B": "Qwen/Qwen2-7B-Instruct",
    "nvidia/Qwen3.5-397B-A17B-NVFP4": "Qwen/Qwen3.5-397B-A17B",
    "QuantTrio/Qwen3.5-397B-A17B-AWQ": "Qwen/Qwen3.5-397B-A17B",
    "Qwen/Qwen3.5-397B-A17B-FP8": "Qwen/Qwen3.5-397B-A17B",
    "Qwen/Qwen2.5-32B": "Qwen/Qwen2.5-32B-Instruct",
    "Qwen/QwQ-32B-Preview": "Qwen/Qwen2.5-32B-Instruct",
    "Lorbus/Qwen3.6-27B-int4-AutoRound": "Qwen/Qwen3.6-27B-FP8",
    "Avesed/Qwen3.6-27B-INT8-W8A8": "Qwen/Qwen3.6-27B-FP8",
    "Qwen/Qwen3.6-27B": "Qwen/Qwen3.6-27B-FP8",
    "nvidia/Llama-3.3-70B-Instruct-FP8": "meta-llama/Llama-3.3-70B-Instruct",
    "nvidia/Llama-3.3-70B-Instruct-FP4": "meta-llama/Llama-3.3-70B-Instruct",
    "neuralmagic/Llama-3.1-Nemotron-70B-Instruct-HF-FP8-dynamic": (
        "meta-llama/Llama-3.3-70B-Instruct"
    ),
    "btbtyler09/cogito-v1-preview-llama-70B-gptq-8bit": "meta-llama/Llama-3.3-70B-Instruct",
    "btbtyler09/cogito-v1-preview-qwen-32B-gptq-8bit": "Qwen/Qwen2.5-32B-Instruct",
    "Qwen/Qwen2-72B": "Qwen/Qwen2-72B-Instruct",
    "zai-org/GLM-4.6-FP8": "zai-org/GLM-4.6",
    "zai-org/GLM-4.5-Air-FP8": "zai-org/GLM-4.5-Air",
    "deepseek-ai/DeepSeek-V3.2": "deepseek-ai/DeepSeek-V3.1-Terminus",
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": "Qwen/Qwen3-235B-A22B-FP8",
    "tiiuae/falcon-180B": "tiiuae/falcon-180B-chat",
    "Qwen/Qwen3-32B-FP8": "Qwen/Qwen3-32B",
    "Qwen/Qwen3-32B-AWQ": "Qwen/Qwen3-32B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen/Qwen3-32B",
    "Qwen/Qwen3-14B-FP8": "Qwen/Qwen3-14B",
    "Qwen/Qwen3-14B-AWQ": "Qwen/Qwen3-14B",
    "Qwen/Qwen3.5-35B-A3B": "Qwen/Qwen3.6-35B-A3B",
    "mistralai/Mistral-7B-v0.3": "mistralai/Mistral-7B-v0.1",
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a16": "meta-llama/Llama-3.1-8B-Instruct",
    "nvidia/AceMath-7B-Instruct": "Qwen/Qwen2.5-7B-Instruct",
    "Qwen/Qwen3-8B-AWQ": "Qwen/Qwen3-8B",
    "nvidia/Qwen3-8B-FP4": "Qwen/Qwen3-8B",
    "JunHowie/Qwen3-8B-GPTQ-Int4": "Qwen/Qwen3-8B",
    "JunHowie/Qwen3-8B-GPTQ-Int8": "Qwen/Qwen3-8B",
    "huggyllama/llama-7b": "meta-llama/Llama-2-7b-hf",
}
"""Models without a snapshot of their own -> a release of the same shapes. DeepSeek V3.2 selects
what its attention reads, which V3.1's shapes leave out."""

_ARRIVALS = {
    "closed loop": "closed_loop",
    "closed loop, decode only": "decode_only",
    "all at once": "all_at_once",
    "offline, all at once": "offline",
    "static batch": "static_batch",
    "poisson": "random",
}
_SETTINGS = ("max_num_seqs", "max_num_batched_tokens", "enforce_eager", "power_limit_w", "link")
_ARGUMENTS = {
    "max_num_seqs": r"--max-num-seqs[ =](\d+)",
    "max_num_batched_tokens": r"--max-num-batched-tokens[ =](\d+)",
    "utilization": r"--(?:gpu-memory-utilization|mem-fraction-static)[ =](0?\.\d+)",
}
"""Settings -> how engines spell them on a command line."""
_MEASURED = {
    "output_tokens_per_second": ("output_tok_s", 1.0),
    "total_tokens_per_second": ("total_tok_s", 1.0),
    "ttft_seconds": ("ttft_mean_ms", 1e-3),
    "ttft_p50_seconds": ("ttft_p50_ms", 1e-3),
    "ttft_p99_seconds": ("ttft_p99_ms", 1e-3),
    "tpot_seconds": ("tpot_mean_ms", 1e-3),
    "tpot_p50_seconds": ("tpot_p50_ms", 1e-3),
    "itl_seconds": ("itl_mean_ms", 1e-3),
    "itl_p50_seconds": ("itl_p50_ms", 1e-3),
    "e2e_seconds": ("e2e_mean_s", 1.0),
    "requests_per_second": ("request_rate_achieved", 1.0),
}


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model, a card, an address, and for figures in doubt."""
    match = models.find(run["model"]) or _same_shapes(run["model"], models)
    url, gpu = _address(run["source"]), _gpu(run["gpu"])
    if match is None or url is None or gpu is None or run["quality"] != "ok":
        return None
    options = run["options"] or {}
    measured = {
        name: float(f"{run[field] * unit:.6g}")
        for name, (field, unit) in _MEASURED.items()
        if run.get(field) is not None
    }
    return compact(
        {
            "kind": "serving_load",
            "id": run["id"],
            "dup_group": run["id"],
            "source_group": run["source_group"],
            "source_url": url,
            "date": run["date"],
            "repo": run["model"],
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": _ENGINES[run["engine"]],
            "engine_version": run["engine_version"],
            "quant": _QUANTS[run["weights"]],
            "quantization": run["weights"],
            "kv_dtype": run["kv_dtype"],
            "gpu": run["gpu"],
            "gpu_slug": gpu,
            "gpu_count": run["gpu_count"],
            "tensor_parallel": run["tensor_parallel"],
            "pipeline_parallel": run["pipeline_parallel"],
            "replicas": run["data_parallel"] if (run["data_parallel"] or 1) > 1 else None,
            "expert_parallel": _experts_dealt(run["expert_parallel"]),
            "prompt_tokens": run["input_tokens"],
            "answer_tokens": run["output_tokens"],
            "lengths": "fixed" if (run["lengths"] or "").startswith("fixed") else "spread",
            "arrival": _ARRIVALS[run["arrival"]],
            "concurrency": run["max_concurrency"] or _sent_at_once(run),
            "requests_per_second": run["request_rate"],
            "requests": run["num_requests"],
            "prefix_caching": run["prefix_caching"],
            "flags": _flags(run),
            **{name: options.get(name) for name in _SETTINGS},
            "utilization": options.get("gpu_memory_utilization"),
            **_on_command_line(options),
            "measured": measured,
        }
    )


def _sent_at_once(run: Row) -> int | None:
    return run["num_requests"] if run["arrival"] == "offline, all at once" else None


def _experts_dealt(value: int | bool | None) -> bool | None:
    return None if value is None else value is True or value > 1


def _flags(run: Row) -> list[str]:
    """Circumstances that no request can state."""
    flags = {
        "drafts": run["spec_decode"] not in (None, "none"),
        "separate_prefill": bool(run["disagg"]),
        "data_parallel_attention": bool(run["dp_attention"]),
        "private_kernels": "private" in (run["engine_version"] or ""),
    }
    return [name for name, present in flags.items() if present]


def _on_command_line(options: Row) -> Row:
    text = " ".join(str(options.get(name, "")) for name in ("launch", "args"))
    found = {name: re.search(pattern, text) for name, pattern in _ARGUMENTS.items()}
    numbers = {name: float(hit[1]) for name, hit in found.items() if hit}
    return {name: int(n) if n.is_integer() else n for name, n in numbers.items()}


def _same_shapes(repo_id: str, models: ModelMap) -> Match | None:
    target = models.find(_SAME_SHAPES.get(repo_id))
    return None if target is None else Match(target.profile, "same_shapes")


def _address(text: str) -> str | None:
    """The address of "owner/repository path@commit"; None for a source that names no place."""
    if text.startswith("https://"):
        return text.split()[0]
    named = re.match(r"([\w.-]+/[\w.-]+) (\S+)@([0-9a-f]{7,40})", text)
    if named is None:
        return None
    repository, path, commit = named.groups()
    return f"https://github.com/{repository}/blob/{commit}/{path}"


@cache
def _gpu(name: str) -> str | None:
    """The catalogue's card of a name; the size on the label may differ from the catalogue's."""
    plain, _, size = name.rpartition(" ")
    for spelling in (name, plain if size.endswith("GB") else name):
        try:
            return load_catalogue().find(spelling).slug
        except UnknownGpu:
            continue
    return None
