"""Converts allocation lines of llama.cpp and its forks to rows of `llama_cpp.jsonl`."""

from __future__ import annotations

import re
from typing import Any

from gpusizer.core.tables import toml_of
from gpusizer.core.units import MIB
from scripts.measurement_rows.common import (
    ModelMap,
    Row,
    compact,
    copied,
    gib,
    mib,
    source_group,
    source_url,
)

_TABLES = toml_of(__file__)
_KINDS = _TABLES["kinds"]
_LAYERS = re.compile(r"^(\d+)/(\d+)")
_MIXES = ("UD-", "MXFP4", "IQ3_M")
_SAME_BASE = {"BF16": ("F16",), "F16": ("BF16",)}
_FORK_TYPE = re.compile(r"^iq\d_k|_r\d+$|_kt$|_kss?$", re.I)
_DRIVERS = (("ik_llama", "ik_llama.cpp"), ("ollama", "ollama"))
_LEGACY_BEFORE = "2024"  # before, llama.cpp had "scratch" buffers and no measured compute graph


def convert(log: Row, models: ModelMap) -> Row | None:
    """Convert one log; None without a snapshot of the model or a source that readers can open."""
    match = models.find(log.get("model_id"), log["model_name"])
    url = source_url(log["source_url"])
    if match is None or url is None:
        return None
    row = compact(
        {
            "kind": "llama_cpp",
            "id": log["id"],
            "source_group": source_group(url),
            "source_url": url,
            "date": log["date"],
            "confidence": log["confidence"],
            "measure_kind": _KINDS[log["measure_kind"]],
            "program": _program(log["engine"]),
            "front_end": log["engine"],
            "build": (log.get("build") or "").partition(" ")[0],
            "repo": log.get("model_id") or match.profile,
            "profile": match.profile,
            "profile_basis": match.basis,
            **_file(log),
            **_settings(log),
            **_placement(log),
            "measured": _measured(log),
        }
    )
    return {**row, "dup_group": _dup_group(row)}


def _program(engine: str) -> str:
    lower = engine.lower()
    return next((name for word, name in _DRIVERS if word in lower), "llama.cpp")


def _file(log: Row) -> Row:
    types: dict[str, int] = log.get("tensor_type_counts") or {}
    return {
        "gguf_repo": log.get("gguf_repo"),
        "gguf_file": log.get("gguf_file"),
        "quant": _label(log.get("quant"), types),
        "tensor_types": types,
        "bits_per_weight": log.get("bpw"),
        "file_bytes": log.get("model_size_bytes") or gib(log.get("file_size_gib")),
    }


def _label(label: str | None, types: dict[str, int]) -> str | None:
    """Return the printed recipe; None where the tensors contradict it (custom mixes).

    A label is accepted when most tensors other than F32 have its base type and none a type that
    only forks have. Unlabelled files of a single type are named after it.
    """
    wide = {kind: count for kind, count in types.items() if kind != "f32"}
    if not label:
        return next(iter(wide)).upper() if len(wide) == 1 else None
    if not wide or label.startswith(_MIXES):
        return label
    if any(_FORK_TYPE.search(kind) for kind in wide):
        return None
    base = max(wide, key=lambda kind: wide[kind]).upper()
    return label if label.upper().startswith((base, *_SAME_BASE.get(base, ()))) else None


def _settings(log: Row) -> Row:
    kv = log.get("kv_type") or {}
    flash = log.get("flash_attn")
    return {
        **copied(log, _TABLES["settings"]),
        "kv_k": kv.get("k") or kv.get("c_kv"),
        "kv_v": kv.get("v"),
        "mla_mode": int(log["mla_attn"]) if log.get("mla_attn") else None,
        "flash_attention": flash if isinstance(flash, bool) else None,
        "legacy": log["date"] < _LEGACY_BEFORE or None,
    }


def _placement(log: Row) -> Row:
    text = log.get("ngl") or ""
    layers = _LAYERS.match(text)
    on_cpu = log["backend"] == ["CPU"]
    overrides = "tensor overrides" in log.get("notes", "") or re.search(
        "override|partly|--fit", text
    )
    offload = None
    if overrides:
        offload = "overrides"
    elif on_cpu or (layers and layers[1] == "0"):
        offload = "none"
    elif layers:
        offload = "all" if layers[1] == layers[2] else "partial"
    elif text.startswith("all") or "Metal" in log["backend"]:
        offload = "all"
    return {
        "backends": log["backend"],
        "gpus": log.get("gpus"),
        "gpu_count": 0 if on_cpu else log.get("n_gpus") or len(log.get("gpus") or "x"),
        "offload": offload,
        "gpu_layers": int(layers[1]) if layers else None,
        "layers_offered": int(layers[2]) if layers else None,
    }


def _measured(log: Row) -> Row:
    source: dict[str, Any] = log["measured"]
    weights = _by_device(source.get("weights_mib"), MIB) or _by_device(
        source.get("weights_gib"), 2**30
    )
    return compact(
        {
            "weights_bytes": mib(source.get("weights_total_mib"))
            or (sum(weights.values()) if weights and log["date"] >= _LEGACY_BEFORE else None),
            "weights_by_device": weights,
            "kv_bytes": mib(source.get("kv_total_mib")),
            "kv_by_device": _by_device(source.get("kv_mib_by_device"), MIB),
            "recurrent_bytes": mib(source.get("recurrent_state_total_mib")),
            "context_bytes": mib(source.get("context_mib")),
            "compute_by_device": _by_device(source.get("compute_mib"), MIB),
            "output_by_device": _by_device(source.get("output_buffer_mib"), MIB),
            "total_used_bytes": mib(source.get("gpu_total_used_mib")),
        }
    )


def _by_device(amounts: Any, unit: int) -> dict[str, int] | None:
    if not isinstance(amounts, dict):
        return None
    return {name: round(value * unit) for name, value in amounts.items() if value is not None}


def _dup_group(row: Row) -> str:
    """Return an ID for runs that do not differ in anything that affects a prediction."""
    names = (
        "measure_kind",
        "program",
        "profile",
        "quant",
        "file_bytes",
        "context",
        "ubatch",
        "sequences",
        "kv_k",
        "kv_v",
        "mla_mode",
        "flash_attention",
        "backends",
        "gpu_count",
        "offload",
        "gpu_layers",
    )
    return "|".join(str(row.get(name, "-")) for name in names)
