"""Converts start-up logs of serving engines to rows of `serving.jsonl`."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from bench.measurements import load_profile
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import toml_of
from gpusizer.memory.workload import SAMPLERS
from scripts.measurement_rows.common import (
    Match,
    ModelMap,
    Row,
    compact,
    copied,
    gib,
    source_group,
    source_url,
)

SWEEP = "llm-d-planner"
"""Source group of the one laboratory whose sweep is a third of the rows."""

_TABLES = toml_of(__file__)
_SLUGS = _TABLES["slugs"]
_VERSIONS = re.compile(r"\d+\.\d+(?:\.\d+)?")
_GENERATION = re.compile(r"\bV([01])\b")
_MEMORY_CLASS = re.compile(r"(\d+) ?Gi?B")
_ENCODER = re.compile(r"(\d+) tokens.*?(\d+) (image|video|audio)")

_FLAGS = _TABLES["flags"]
_FACTS: dict[str, Callable[[str], Any]] = {
    "engine_version": str,
    "gpu": str,
    "gpu_memory_utilization": float,
    "max_concurrency": float,
    "max_num_batched_tokens": int,
    "max_num_seqs": int,
    "kv_cache_dtype": str,
    "draft_tokens": int,
    "outcome": str,
    "sampler": str,
    "prefix_caching": lambda text: text == "true",
}
"""Fields that `serving_facts.csv` may correct, with the parser of their values."""

_NOT_COMPARED = _TABLES["not_compared"]

_OUT_OF_MEMORY = re.compile(r"negative KV|activation profile > budget|OOM later during|init aborts")
_FAILED = re.compile(r"start failed")
_BY_METHOD = _TABLES["by_method"]


def convert(log: Row, models: ModelMap) -> Row | None:
    """Convert one log; None without a snapshot of the model or a source that readers can open."""
    log = {**log, **_facts().get(log["id"], {})}
    match = models.find(log["model_id"], log.get("model_guess"))
    url = source_url(log["source_url"])
    if match is None or url is None:
        return None
    measured = {
        name: value
        for name, value in _measured(log).items()
        if name not in _NOT_COMPARED
        or not log.get("compare")
        or _NOT_COMPARED[name] in log["compare"]
    }
    return compact(
        {
            "kind": "serving",
            "id": log["id"],
            "dup_group": log.get("dup_group") or log["id"],
            "source_group": SWEEP if "-llmd" in log["id"] else source_group(url),
            "source_url": url,
            "date": log["date"],
            "confidence": log["confidence"],
            "engine": _SLUGS.get(log["engine"], log["engine"].lower()),
            **_version(log["engine_version"] or ""),
            "repo": log["model_id"] or match.profile,
            "profile": match.profile,
            "profile_basis": match.basis,
            "quant": _quant(log, match),
            "quantization": log["quantization"],
            "weight_dtype": log["weight_dtype"],
            **_gpu(log),
            **_settings(log),
            "outcome": _outcome(log),
            "flags": _flags(log),
            "measured": measured,
        }
    )


@cache
def _facts() -> dict[str, Row]:
    """Read settings that collectors omitted or rounded, as the source states them, by row ID."""
    facts: dict[str, Row] = {}
    path = DATA_DIR / "measurements" / "serving_facts.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for fact in csv.DictReader(file):
            value = _FACTS[fact["field"]](fact["value"])
            facts.setdefault(fact["id"], {})[fact["field"]] = value
    return facts


def _version(text: str) -> Row:
    """Return the newest release that a text allows, and the oldest where it names a range."""
    versions = _VERSIONS.findall(re.split(r"[(+]", text)[0])
    generation = _GENERATION.search(text)
    return {
        "engine_version": versions[-1] if versions else None,
        "engine_version_from": versions[0] if len(versions) > 1 else None,
        "engine_generation": f"V{generation[1]}" if generation else None,
    }


def _gpu(log: Row) -> Row:
    text = log["gpu"] or ""
    memory_match = _MEMORY_CLASS.search(text)
    return {
        "gpu": text.partition(" (")[0],
        "gpu_memory_bytes": gib(log["gpu_mem_gib"]),
        "gpu_class_gb": int(memory_match[1]) if memory_match else None,
        "gpu_count": log["num_gpus"],
        "tensor_parallel": log["tp"],
        "pipeline_parallel": log["pp"],
        "expert_parallel": bool(log["ep"]) or None,
        "data_parallel": log.get("dp"),
    }


def _settings(log: Row) -> Row:
    encoder = _ENCODER.search(log.get("mm_profile") or "")
    return {
        **copied(log, _TABLES["settings"]),
        "sampler": _sampler(log.get("sampler")),
        "encoder_tokens": int(encoder[1]) if encoder else None,
        "encoder_items": int(encoder[2]) if encoder else None,
        "encoder_modality": encoder[3] if encoder else None,
    }


def _sampler(text: str | None) -> str | None:
    """Return who samples, as a request names it."""
    name = (text or "").partition(" ")[0].lower()
    return name if name in SAMPLERS else None


def _measured(log: Row) -> Row:
    source, derived = log["measured"], log.get("derived", {})
    return compact(
        {
            **{f"{name}_bytes": gib(n) for name, n in copied(source, _TABLES["amounts"]).items()},
            "free_at_start_bytes": gib(log.get("free_at_start_gib")),
            "kv_tokens": source.get("kv_tokens") or source.get("max_total_num_tokens"),
            "kv_blocks": source.get("gpu_blocks"),
            "max_concurrency": log.get("max_concurrency"),
            "kv_bytes_per_token": derived.get("kv_bytes_per_token_per_gpu")
            or derived.get("kv_bytes_per_token_from_cpu_blocks"),
            "kv_bytes_per_token_rounding": derived.get("kv_bpt_rel_rounding")
            or derived.get("cpu_blocks_rel_rounding"),
            "kv_pools": [_pool(pool) for pool in source.get("kv_pools", ())],
        }
    )


def _pool(pool: dict[str, Any]) -> Row:
    return {"tokens": pool["tokens"], "bytes": gib(pool["k_gib"] + pool["v_gib"])}


def _quant(log: Row, match: Match) -> str:
    """Return the request's quantization: the checkpoint as stored unless the run converted it."""
    profile = load_profile(match.profile)
    method = f"{log['quantization'] or ''} {log['weight_dtype'] or ''}".lower()
    if match.converted:
        return "fp8"
    if profile.quantization is not None and not (
        "int4" in method and profile.quantization.bits == 8
    ):
        return "native"
    for word, slug in _BY_METHOD:
        if word in method:
            return slug
    wide = "float32" in method
    if wide == (profile.native_dtype == "F32"):
        return "native"
    return "fp32" if wide else "bf16"


def _outcome(log: Row) -> str:
    if log.get("outcome"):
        return str(log["outcome"])
    notes = log.get("notes", "")
    if _OUT_OF_MEMORY.search(notes) or (log["measured"].get("kv_cache_gib_per_gpu") or 1) < 0:
        return "out_of_memory"
    return "failed" if _FAILED.search(notes) else "ran"


def _flags(log: Row) -> list[str]:
    notes = log.get("notes", "")
    return [flag for flag, words in _FLAGS.items() if re.search(words, notes)]
