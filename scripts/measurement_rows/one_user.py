"""Converts decoding speeds of one user, settings stated, to rows of `throughput.jsonl`."""

from __future__ import annotations

from gpusizer.core.tables import toml_of
from scripts.measurement_rows.common import (
    Match,
    ModelMap,
    Row,
    compact,
    copied,
    digest,
    gpu_slug,
    source_url,
)

_TABLES = toml_of(__file__)
_QUANTS = _TABLES["quants"]
_SAME_SHAPES = _TABLES["same_shapes"]
_SETTINGS = ("engine", "engine_version", "backend", "gpu", "gpu_count", "quant", "context")


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model or a card of the catalogue, and for rows that their
    collector found out of line with their own source."""
    match = models.find(run["model"])
    if match is None and run["model"] in _SAME_SHAPES:
        match = Match(_SAME_SHAPES[run["model"]], "same_shapes")
    url = source_url(run["source_url"])
    gpu = gpu_slug(run["gpu"])
    if match is None or url is None or gpu is None or run.get("flags"):
        return None
    setting = "|".join(str(run.get(name, "")) for name in ("source_group", "model", *_SETTINGS))
    several = run["gpu_count"] > 1
    run_text = f"{setting}|{url}|{run['tok_s']}"
    return compact(
        {
            "kind": "throughput",
            **copied(run, _TABLES["copied"]),
            "id": f"one-user-{digest(run_text)}",
            "dup_group": f"one-user-{digest(setting)}",
            "source_url": url,
            "confidence": "high",
            "profile": match.profile,
            "profile_basis": match.basis,
            "quant": _QUANTS.get(run["quant"], run["quant"]),
            "gpu_slug": gpu,
            "split": ("tensor" if run.get("tensor_parallel") else "layer") if several else None,
            "measured": {"decode_tokens_per_second": run["tok_s"]},
        }
    )
