"""Published sizes of GGUF files -> rows of `gguf_sizes.jsonl`."""

from __future__ import annotations

import re

from scripts.measurement_rows.common import (
    MIB,
    ModelMap,
    Row,
    compact,
    source_group,
    source_url,
)

_MAX_ROUNDING = 0.01  # a step above 1 % of the size says nothing about a recipe
_HUB_FILE = re.compile(r"https://huggingface\.co/([\w.-]+/[\w.-]+)/resolve/")
_STEPS: tuple[tuple[str, int, dict[str, float], float], ...] = (
    # field, bytes of its unit, steps by the collector's wording, step otherwise
    ("size_gib", 2**30, {"0.01 GiB": 0.01}, 0.1),
    ("size_mib", MIB, {}, 0.1),
    ("size_gb", 10**9, {"0.01 GB (decimal)": 0.01}, 0.1),
)


def convert(size: Row, models: ModelMap) -> Row | None:
    """One row; None without a model, an address, or a size printed finely enough."""
    match = models.find(size.get("model_id")) or models.by_file(size.get("gguf_repo"))
    url = source_url(size["source_url"])
    found = _bytes(size)
    if match is None or url is None or found is None or found[1] > _MAX_ROUNDING * found[0]:
        return None
    amount, step = found
    row = compact(
        {
            "kind": "gguf_size",
            "id": size["id"],
            "source_group": source_group(url),
            "source_url": url,
            "repo": size.get("model_id") or match.profile,
            "profile": match.profile,
            "profile_basis": match.basis,
            "gguf_repo": _repository(size),
            "gguf_file": size.get("gguf_file"),
            "quant": size["quant"].removesuffix(" (uniform)"),
            "counts": _counts(size["kind"]),
            "importance_matrix": size.get("imatrix"),
            "tensor_types": size.get("tensor_type_counts"),
            "parameters": size.get("n_params"),
            "bits_per_weight": size.get("bpw"),
            "bytes": amount,
        }
    )
    group = "|".join((match.profile, row["counts"], size["quant"], str(round(amount / MIB))))
    return {**row, "rounding_bytes": step, "dup_group": group}


def _repository(size: Row) -> str | None:
    """Where the file is published: named, or in its address."""
    found = _HUB_FILE.match(size.get("gguf_url") or "")
    named: str | None = size.get("gguf_repo")
    return named or (found[1] if found else None)


def _counts(kind: str) -> str:
    """What the bytes are of: a file, its tensors, or tensors all of one type."""
    if "uniform" in kind:
        return "uniform_tensors"
    return "tensors" if kind.startswith("tensor bytes") else "file"


def _bytes(size: Row) -> tuple[int, int] | None:
    """(bytes, printed step), the step 0 for exact sizes."""
    if size.get("size_bytes") is not None:
        return size["size_bytes"], 0
    if size.get("size_bytes_from_bpw") is not None:
        return size["size_bytes_from_bpw"], round(1e-4 / 8 * size["n_params"])
    for key, unit, steps, default in _STEPS:
        if size.get(key) is not None:
            step = next((s for text, s in steps.items() if text in size["rounding"]), default)
            return round(size[key] * unit), round(step * unit)
    return None
