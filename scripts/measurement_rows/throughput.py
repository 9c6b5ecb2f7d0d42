"""Converts measured speeds to rows of `throughput.jsonl`."""

from __future__ import annotations

import hashlib
import re
from functools import cache

from gpusizer.core.errors import UnknownGpu
from gpusizer.gpus import Catalogue, load_catalogue
from scripts.measurement_rows.common import (
    Match,
    ModelMap,
    Row,
    compact,
    gib,
    source_group,
    source_url,
)

# Engines that gpusizer models, by the start of the source's name; the first match counts. Other
# engines keep their own name: they run fused or compiled code that a request cannot name.
_ENGINES = (
    ("llama.cpp", "llama.cpp"),
    ("LM Studio", "llama.cpp"),
    ("Ollama", "ollama"),
    ("exllama", "exllama"),
    ("Rapid-MLX", "mlx"),
    ("transformers", "transformers"),
    ("vLLM", "vllm"),
    ("MLPerf: vLLM", "vllm"),
    ("SGLang", "sglang"),
    ("TGI", "tgi"),
    ("TensorRT-LLM", "tensorrt-llm"),
    ("MLPerf: TensorRT", "tensorrt-llm"),
    ("LMDeploy", "lmdeploy"),
    ("gpt-fast", "gpt-fast"),
    ("MLC", "mlc"),
)
_QUANTS = {
    "f16": "bf16",
    "fp16": "bf16",
    "gptq4": "gptq-int4-g128",
    "gptq8": "gptq-int8-g128",
    "awq": "awq-int4-g128",
    "w4a16": "gptq-int4-g128",
    "int4g32": "gptq-int4-g32",
    "int4g128": "gptq-int4-g128",
    "mlc-q4f16": "gptq-int4-g32",
    "mlx4": "mlx-4bit",
    "nf4": "bnb-nf4",
    "fp4": "nvfp4",
    "q4_k_xl": "q4_k_m",
    "ud-q4_k_xl": "q4_k_m",
    "q8_k_xl": "q8_0",
    "ud-q3_k_xl": "q3_k_l",
}
"""Labels of formats -> slugs; a mix with an "XL" counts as the standard recipe nearest to it."""
_IN_FILE_NAME = re.compile(r"(BF16|UD-Q3_K_S|UD-Q5_K_XL|mxfp4)-\d{5}-of-\d{5}$")
_FILE_QUANTS = {"BF16": "bf16", "UD-Q3_K_S": "q3_k_s", "UD-Q5_K_XL": "q5_k_m", "mxfp4": "mxfp4"}
_FILE_SIZE = re.compile(r"file size ([\d.]+) GiB")
_CORES = re.compile(r"^(M\d(?: \w+)?) (\d+)c$")
_GPUS = {"Strix Halo 8060S": "ryzen-ai-max-395-128gb", "DGX Spark GB10": "gb10-dgx-spark-128gb"}
_SAME_SHAPES = {
    "llama3-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "llama3-70b": "meta-llama/Llama-3.3-70B-Instruct",
    "gemma-3-4b": "google/gemma-3-4b-it",
    "Qwen/Qwen2.5-Coder-7B-Instruct": "Qwen/Qwen2.5-7B-Instruct",
    "Qwen3.6-27B-UD-Q8_K_XL": "Qwen/Qwen3.6-27B-FP8",
    "Llama 4 Scout": "meta-llama/Llama-4-Scout-17B-16E",
}
"""Models without a snapshot of their own -> a release of the same shapes."""
_SPLITS = {"tp": "tensor", "pp": "layer", "layer": "layer", "row": "row"}


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model, a card of the catalogue, an address, or a number."""
    match = models.find(run["model_id"]) or _same_shapes(run, models)
    url = source_url(run["source_url"])
    gpu = _gpu(run["gpu"])
    if match is None or url is None or not gpu or run["flags"] or run["quant"] == "unstated":
        return None
    row = compact(
        {
            "kind": "throughput",
            "source_group": source_group(url),
            "source_url": url,
            "confidence": run["confidence"],
            "repo": run["model_id"],
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": _engine(run["engine"]),
            "front_end": run["engine"],
            "engine_version": run["version"],
            "backend": run["backend"],
            "quant": _quant(run),
            "quantization": run["quant"],
            "file_bytes": _file_bytes(run),
            "gpu": run["gpu"],
            **gpu,
            "gpu_count": run["num_gpus"],
            "split": _SPLITS.get((run["split"] or "").rstrip("0123456789")),
            "context": run["ctx"],
            "concurrency": run["concurrency"] if isinstance(run["concurrency"], int) else None,
            "scenario": _scenario(run),
            "prompt_tokens": run["prompt_len"],
            "generated_tokens": run["gen_len"],
            "measured": compact(
                {
                    "decode_tokens_per_second": run["decode_tps"],
                    "prefill_tokens_per_second": run["prompt_tps"],
                    "serving_tokens_per_second": run["serving_output_tps"],
                }
            ),
        }
    )
    return {"kind": row.pop("kind"), **_identity(row), **row}


def _identity(row: Row) -> Row:
    """Return an ID from the run's settings and result, and a group from its settings alone."""
    names = (
        "profile",
        "engine",
        "backend",
        "quant",
        "gpu",
        "gpu_count",
        "split",
        "context",
        "concurrency",
        "scenario",
        "prompt_tokens",
        "source_url",
    )
    group = "|".join(str(row.get(name, "")) for name in names)
    run_text = f"{group}|{row['repo']}|{row['front_end']}|{row['measured']}"
    digests = (hashlib.sha256(text.encode()).hexdigest()[:12] for text in (run_text, group))
    return {"id": f"speed-{next(digests)}", "dup_group": f"speed-{next(digests)}"}


def _same_shapes(run: Row, models: ModelMap) -> Match | None:
    for name in (run["model_id"], run["model_key"]):
        target = models.find(_SAME_SHAPES.get(name or ""))
        if target is not None:
            return Match(target.profile, "same_shapes")
    return None


def _engine(name: str) -> str:
    return next((slug for start, slug in _ENGINES if name.startswith(start)), name.casefold())


def _quant(run: Row) -> str | None:
    """Return the slug of the format; None where the source leaves it to the submission."""
    if run["quant"].startswith("submission"):
        return None
    label = run["quant"].casefold()
    in_name = _IN_FILE_NAME.search(run["model_id"])
    if in_name:
        label = _FILE_QUANTS[in_name[1]]
    if label == "mxfp4" and run["engine"].startswith("llama.cpp"):
        return "mxfp4_moe"
    if label.startswith("exl2"):
        return f"exl2-{label.split()[1].removesuffix('bpw')}"
    return _QUANTS.get(label, label)


def _file_bytes(run: Row) -> int | None:
    size_match = _FILE_SIZE.search(run["notes"] or "")
    return gib(float(size_match[1])) if size_match else None


def _scenario(run: Row) -> str | None:
    """Return "offline" (unbounded load), "server" or "interactive" (with limits on latency)."""
    if isinstance(run["concurrency"], str):
        return run["concurrency"].removeprefix("MLPerf ").casefold()
    return "offline" if run["engine"] == "TensorRT-LLM" else None


@cache
def _catalogue() -> Catalogue:
    return load_catalogue()


@cache
def _gpu(name: str) -> Row:
    """Return the slug, and cores where the name has them; empty for a card not in the catalogue."""
    cores = _CORES.match(name)
    if cores:
        family = f"apple-{cores[1].casefold().replace(' ', '-')}-"
        kin = [g for g in _catalogue().gpus if re.fullmatch(family + r"\d+gb", g.slug)]
        exact = [g for g in kin if g.compute_units == int(cores[2])]
        return {"gpu_slug": (exact or kin)[0].slug, "gpu_cores": int(cores[2])} if kin else {}
    try:
        return {"gpu_slug": _catalogue().find(_GPUS.get(name, name)).slug}
    except UnknownGpu:
        return {}
