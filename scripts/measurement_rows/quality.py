"""Converts published losses of quantizations to rows of `quality.jsonl`."""

from __future__ import annotations

import re

from gpusizer.core.tables import toml_of
from scripts.measurement_rows.common import ModelMap, Row, compact, copied

_TABLES = toml_of(__file__)
_ABOUT = _TABLES["about"]
_REPOS = _TABLES["repos"]
_FLAGS = _TABLES["flags"]
_TRAINED = ("paretoq", "efficientqat", "spinquant", "qlora")
"""Methods that train weights: what they make is no conversion that a user can ask for."""

_FAMILIES = _TABLES["families"]
_SLUGS = _TABLES["slugs"]
_NAMES = _TABLES["names"]


def convert(row: Row, models: ModelMap) -> Row | None:
    """Convert one measurement; None without an address."""
    name = row["quantization"]
    if not row["source"].startswith("https://"):
        return None
    notes, baseline = row.get("notes") or "", row["baseline_quantization"]
    flags = [flag for pattern, flag in _FLAGS if re.search(pattern, notes)]
    if row["method"] in _TRAINED or "qat" in f"{name} {row['model']} {baseline}".casefold():
        flags.append("trained")
    if "highest measured" in baseline:
        flags.append("lossy_baseline")
    parameters = round(row["parameters_b"] * 1e9)
    return compact(
        {
            "kind": "quality",
            **copied(row, _TABLES["copied"]),
            "repo": _REPOS.get(row["model"], row["model"]),
            "parameters": parameters,
            "about": _ABOUT.get(row["about"], row["about"]),
            "quant": slug_of(name),
            "quantization": name,
            "family": family_of(row["format"], name),
            "importance_matrix": {"yes": True, "no": False}.get(row["imatrix"]),
            "baseline": baseline,
            "flags": flags,
        }
    )


def family_of(file_format: str, name: str) -> str:
    """Return the family of a quantization, "other" for a scheme that gpusizer does not size."""
    for pattern, family in _FAMILIES:
        match = re.match(pattern, f"{file_format} {name}")
        if match:
            return match.expand(family)
    return "other"


def slug_of(name: str) -> str:
    """Return the slug of the quantization in gpusizer; the source's own name where it has none."""
    for pattern, slug in _SLUGS:
        match = re.fullmatch(pattern, name)
        if match:
            name = match.expand(slug)
            break
    return _NAMES.get(name, name)
