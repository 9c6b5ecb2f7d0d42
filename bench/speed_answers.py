"""Compares measured speeds with public answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.errors import Comparison
from bench.front_door import Answer, catalogue, size
from bench.measurements import Row, load_profile
from gpusizer.fit.speed.classes import decode_classes

ENGINE = "speed"
"""Name of the rows in tables, in place of an engine: answers have one rate per quantity."""

_OFFLINE = "offline"
_LLAMA_CPP = ("llama.cpp", "ollama")
_MEMORY = {
    "nvidia_gddr": "gddr",
    "nvidia_hbm": "hbm",
    "apple": "apple",
    "amd": "amd",
    "intel": "intel",
}
_DECODE = "decode_tokens_per_second"
_PREFILL = "prefill_tokens_per_second"
_TOTAL = "decode_tokens_per_second_total"
_SERVING = "serving_tokens_per_second"


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request.

    The context is prompt and answer together, or else the stated tokens in the cache during
    generation.
    """
    lengths = row.get("prompt_tokens", 0) + row.get("generated_tokens", 0)
    several, split = row["gpu_count"] > 1, row.get("split")
    offline = row.get("scenario") == _OFFLINE
    return {
        "model": row["profile"],
        "quant": _quant(row),
        "engine": row["engine"],
        "engine_version": row.get("engine_version"),
        "gpu": row["gpu_slug"],
        "gpu_count": row["gpu_count"],
        "context": lengths or row.get("context"),
        "concurrency": None if offline else row.get("concurrency"),
        "tensor_parallel": row["gpu_count"] if several and split == "tensor" else None,
        "pipeline_parallel": row["gpu_count"] if several and split == "layer" else None,
    }


def _quant(row: Row) -> str | None:
    """Return the format's slug in a request.

    Files of models released in MXFP4 have that recipe; checkpoints are as stored.
    """
    slug: str | None = row.get("quant")
    if slug != "mxfp4":
        return slug
    return "mxfp4_moe" if row["engine"] in _LLAMA_CPP else "native"


def answer_to(row: Row) -> Answer | None:
    """Return the ranking's entry for the row's card, None if no request can state the run."""
    fields = fields_of(row)
    unstated = row["gpu_count"] > 1 and row.get("split") not in ("tensor", "layer")
    if unstated or not fields["quant"] or not fields["context"]:
        return None
    report = size(fields)
    return None if report is None else report["ranking"][0]


def compare(row: Row) -> Iterator[Comparison]:
    """Compare every speed that the row measured and that the answer shows."""
    entry = answer_to(row)
    if entry is None:
        return
    measured, alone = row["measured"], row.get("concurrency", 1) == 1
    serving = _SERVING if row.get("scenario") == _OFFLINE else _TOTAL
    rates_by_quantity = {
        _DECODE: (_DECODE, f"decode_{_kind(row)}") if alone else None,
        _PREFILL: (_PREFILL, "prefill") if row.get("split") != "tensor" else None,
        _SERVING: (serving, "serving"),
    }
    for name, place in rates_by_quantity.items():
        rate = entry[place[0]] if place else None
        if place is None or rate is None or not measured.get(name):
            continue
        yield Comparison(
            ENGINE,
            place[1],
            row["engine"],
            row["id"],
            row["dup_group"],
            row["source_group"],
            row["source_url"],
            measured[name],
            rate["likely"],
            None,
            in_bytes=False,
            low=rate["low"],
            high=rate["high"],
        )


def _kind(row: Row) -> str:
    """Return the group of a decoding error, by experts, division and kind of memory."""
    arch = load_profile(row["profile"]).architecture
    if row.get("split") == "tensor":
        return "tensor"
    if arch is not None and arch.experts:
        return "moe"
    if row["gpu_count"] > 1:
        return "split"
    classes = decode_classes(catalogue().find(row["gpu_slug"]))
    return next((_MEMORY[name] for name in classes if name in _MEMORY), "other")
