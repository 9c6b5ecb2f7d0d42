"""Converts measured speeds to rows of `throughput.jsonl`."""

from __future__ import annotations

import re
from functools import cache

from gpusizer.core.tables import toml_of
from gpusizer.gpus import load_catalogue
from scripts.measurement_rows.common import (
    Match,
    ModelMap,
    Row,
    compact,
    copied,
    digest,
    gib,
    gpu_slug,
    source_group,
    source_url,
)

_TABLES = toml_of(__file__)
_ENGINES = _TABLES["engines"]
_QUANTS = _TABLES["quants"]
_IN_FILE_NAME = re.compile(r"(BF16|UD-Q3_K_S|UD-Q5_K_XL|mxfp4)-\d{5}-of-\d{5}$")
_FILE_QUANTS = _TABLES["file_quants"]
_FILE_SIZE = re.compile(r"file size ([\d.]+) GiB")
_CORES = re.compile(r"^(M\d(?: \w+)?) (\d+)c$")
_GPUS = _TABLES["gpus"]
_SAME_SHAPES = _TABLES["same_shapes"]
_SPLITS = _TABLES["splits"]


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
            **copied(run, _TABLES["copied"]),
            "source_group": source_group(url),
            "source_url": url,
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": _engine(run["engine"]),
            "quant": _quant(run),
            "file_bytes": _file_bytes(run),
            **gpu,
            "split": _SPLITS.get((run["split"] or "").rstrip("0123456789")),
            "concurrency": run["concurrency"] if isinstance(run["concurrency"], int) else None,
            "scenario": _scenario(run),
            "measured": compact(copied(run, _TABLES["measured"])),
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
    return {"id": f"speed-{digest(run_text)}", "dup_group": f"speed-{digest(group)}"}


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
def _gpu(name: str) -> Row:
    """Return the slug, and cores where the name has them; empty for a card not in the catalogue."""
    cores = _CORES.match(name)
    if cores:
        family = f"apple-{cores[1].casefold().replace(' ', '-')}-"
        kin = [g for g in load_catalogue().gpus if re.fullmatch(family + r"\d+gb", g.slug)]
        exact = [g for g in kin if g.compute_units == int(cores[2])]
        return {"gpu_slug": (exact or kin)[0].slug, "gpu_cores": int(cores[2])} if kin else {}
    slug = gpu_slug(_GPUS.get(name, name))
    return {} if slug is None else {"gpu_slug": slug}
