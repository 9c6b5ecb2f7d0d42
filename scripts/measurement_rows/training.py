"""Converts training runs to rows of `training.jsonl`: settings, peaks, addresses."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from gpusizer.core.tables import toml_of
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

_TABLES = toml_of(__file__)
_STACKS = _TABLES["stacks"]
_OPTIMIZERS = _TABLES["optimizers"]
_METRICS = _TABLES["metrics"]
_ALSO = _TABLES["also"]
_OUTCOMES = _TABLES["outcomes"]
_SINGLE = "all runs are single-GPU"  # a later edition of the page corrects its table
_VARIED = ("truncated to max_length", "unpacked", "dataset mix", "variable lengths")
_CARD = re.compile(r"(\d+)\s*GB")
_LABELS = _TABLES["labels"]


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None for estimates, and without a model or an address."""
    match = models.find(run["model_id"], _ALSO.get(run["model_id"])) or _stand_in(run, models)
    url = source_url(run["source_url"])
    if match is None or url is None or run["kind"] == "estimated":
        return None
    if _SINGLE in (run["notes"] or ""):
        run = {**run, "num_gpus": 1, "parallelism": "single", "gradient_checkpointing": False}
    settings = _settings(run)
    measured = {"peak_bytes": gib(run["measured_peak_gib"])} if run["kind"] == "measured" else {}
    if run.get("before_is_clean"):
        measured["loaded_bytes"] = gib(run["reserved_before_gb"])
    row = compact(
        {
            "kind": "training",
            "id": _identity(run),
            "dup_group": _group(run),
            "source_group": source_group(url),
            "source_url": url,
            "confidence": run["confidence"],
            "repo": run["model_id"],
            "profile": match.profile,
            "profile_basis": match.basis,
            "outcome": _OUTCOMES.get(run["kind"]),
            **settings,
            "trainable_parameters": run["trainable_params"],
            "gpu": run["gpu"],
            "gpu_class_gb": _class_gb(run["gpu"]),
            "metric": _metric(run["metric"]),
            "tokens_per_second": run["tokens_per_s"],
            "framework": run["framework"],
            "framework_version": run["version"],
            "measured": compact(measured),
        }
    )
    return row if "outcome" in row else None


def _stand_in(run: Row, models: ModelMap) -> Match | None:
    """Return the release that the collector found to have the same shapes."""
    match = models.find(run.get("corpus_id"))
    return match and Match(match.profile, "same_shapes")


def _settings(run: Row) -> dict[str, Any]:
    stack = _stack(run["framework"])
    if stack == "torchtitan" and not run["version"].startswith("e7c0cae"):
        stack = "torchtitan-2024"
    if stack == "litgpt" and "2023" in run["version"]:
        stack = "lit-gpt-2023"
    notes = run["notes"] or ""
    sharding = _sharding(run)
    return {
        **copied(run, _TABLES["settings"]),
        "stack": stack,
        "method": "lora" if run["method"] == "lora+emb" else run["method"],
        "train_embeddings": True if run["method"] == "lora+emb" else None,
        "optimizer": _optimizer(run),
        "optimizer_in_backward": "in-backward" in (run["optimizer"] or "") or None,
        "precision": _precision(run, stack, sharding),
        "base": _base(run) or ("fp32" if run["precision"] == "fp32 weights" else None),
        "gradient_checkpointing": _checkpointing(run["gradient_checkpointing"]),
        "gradient_accumulation": _accumulation(notes),
        "flash_attention": {True: True, "sdpa": True, False: False}.get(run["flash_attention"]),
        "fused_loss": ("CCE" in notes and "no CCE" not in notes) or None,
        "packed": _packed(run, notes),
        "lora_rank": run["lora_rank"] if run["method"] != "full" else None,
        "lora_targets": _targets(run),
        "gpu_count": run["num_gpus"] if sharding or run["num_gpus"] == 1 else 1,
        "sharding": sharding,
        **_degrees(run["parallelism"] or ""),
        "offload": _offload(run, notes),
    }


def _stack(framework: str) -> str:
    low = framework.lower()
    return next((stack for start, stack in _STACKS if start in low), "transformers")


def _sharding(run: Row) -> str | None:
    text = (run["parallelism"] or "").lower()
    if "no_shard" in text or "ddp" in text or "device_map" in text:
        return "ddp"
    if "zero-3" in text or "zero3" in text:
        return "zero3"
    if "fsdp" in text:
        return "fsdp"
    if "sequence parallel" in text:
        return "ddp"
    full = run["method"] == "full" and _stack(run["framework"]) == "deepspeed"
    return "zero3" if full else None


def _degrees(text: str) -> Row:
    degrees = {
        name: int(match[1])
        for name, pattern in (
            ("context_parallel", r"(?:CP|sequence parallel) (\d+)"),
            ("tensor_parallel", r"TP (\d+)"),
            ("pipeline_parallel", r"PP (\d+)"),
        )
        if (match := re.search(pattern, text))
    }
    return {name: degree for name, degree in degrees.items() if degree > 1}


def _optimizer(run: Row) -> str | None:
    text = (run["optimizer"] or "").lower()
    if run["method"] == "galore":
        return "galore_adamw_8bit" if "8-bit" in (run["notes"] or "") else "galore_adamw"
    if not text:
        return None
    return next((slug for sign, slug in _OPTIMIZERS if sign in text), "adamw")


def _precision(run: Row, stack: str, sharding: str | None) -> str | None:
    text = (run["precision"] or "").lower()
    if "deepspeed" in text or (stack == "deepspeed"):
        return "master"
    if "fp32 params" in text or "amp" in text or "fp32 master" in text:
        return "mixed"
    if "fp16/bf16 mixed" in text and sharding == "zero3":
        return "master"
    if text in ("fp32", "fp32 weights"):
        return "fp32"
    return "bf16" if text else None


def _group(run: Row) -> str:
    """Return an ID for a measurement: a page may print one number for a setting in several rows."""
    parts = (
        run["source_url"],
        run["model_id"],
        run["method"],
        run["base_quant"],
        run["seq_len"],
        run["micro_batch"],
        run["num_gpus"],
        run["reported"],
    )
    return _digest(parts)


def _digest(facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:8]


def _identity(run: Row) -> str:
    """Return a readable ID made of the settings, the same for repeats of a printed setting."""
    facts = (
        run["framework"],
        run["version"],
        run["model_id"],
        run["method"],
        run["optimizer"],
        run["base_quant"],
        run["lora_rank"],
        run["lora_targets"],
        run["seq_len"],
        run["micro_batch"],
        run["num_gpus"],
        run["parallelism"],
        run["cpu_offload"],
        run["gradient_checkpointing"],
        run["flash_attention"],
        run["compile"],
        run["precision"],
        run["gpu"],
        run["kind"],
        run["notes"],
        run["reported"],
    )
    short = run["model_id"].rpartition("/")[2].lower()
    method = run["method"].replace("+", "-")
    return f"{short}-{method}-{run['seq_len'] or 'any'}-{_digest(facts)}"


def _base(run: Row) -> str | None:
    low = (run["base_quant"] or "").lower()
    if not low:
        return None
    if "gptq" in low:
        packed = run["model_id"].endswith("-Int4")
        return "int8" if "int8" in low else "native" if packed else "int4"
    if "dq" in low:
        return "nf4-dq"
    return "int8" if "int8" in low else "nf4"


def _checkpointing(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "full" if value else "none"
    return "full" if value == "unsloth" else "selective"


def _accumulation(notes: str) -> int | None:
    match = re.search(r"accumulation (\d+)", notes)
    return int(match[1]) if match else None


def _packed(run: Row, notes: str) -> bool | None:
    if "sample_packing" in notes or "exactly the context" in notes:
        return True
    if re.search(r"\(\d+ tokens\)", notes):
        return True
    return False if any(words in notes for words in _VARIED) else None


def _targets(run: Row) -> list[str] | None:
    text = run["lora_targets"]
    if run["method"] == "full" or not text:
        return None
    names = text.partition(" + ")[0].partition(" (default")[0].replace("c_attn/qkv", "qkv")
    if names.lower().startswith("all"):
        return ["all-linear"]
    if names.lower() == "attention linear":
        return ["attention"]
    return [part.strip() for part in names.split(",")]


def _offload(run: Row, notes: str) -> str | None:
    text = run["cpu_offload"] or ""
    if "activation offload" in notes:
        return "activations"
    if "params" in text:
        return "model" if "optimizer" in text else "parameters"
    return None


def _metric(text: str) -> str:
    low = text.lower()
    return next((name for sign, name in _METRICS if sign in low), "allocated")


def _class_gb(gpu: str | None) -> int | None:
    match = _CARD.search(gpu or "")
    if match:
        return int(match[1])
    return next((size for name, size in _LABELS.items() if name in (gpu or "")), None)
