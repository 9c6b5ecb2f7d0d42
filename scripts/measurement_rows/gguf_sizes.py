"""Converts published sizes of GGUF files to rows of `gguf_sizes.jsonl`."""

from __future__ import annotations

import re

from gpusizer.core.units import MIB
from scripts.measurement_rows.common import (
    ModelMap,
    Row,
    compact,
    source_group,
    source_url,
)

_MAX_ROUNDING = 0.01  # share of the size; sizes printed in larger steps cannot tell recipes apart
_HUB_FILE = re.compile(r"https://huggingface\.co/([\w.-]+/[\w.-]+)/resolve/")
_STEPS: tuple[tuple[str, int, dict[str, float], float], ...] = (
    # field, bytes of its unit, steps by the collector's wording, step for any other wording
    ("size_gib", 2**30, {"0.01 GiB": 0.01}, 0.1),
    ("size_mib", MIB, {}, 0.1),
    ("size_gb", 10**9, {"0.01 GB (decimal)": 0.01}, 0.1),
)


def convert(size: Row, models: ModelMap) -> Row | None:
    """Convert one size; None without a model, an address, or a size in sufficiently small steps."""
    match = models.find(size.get("model_id")) or models.by_file(size.get("gguf_repo"))
    url = source_url(size["source_url"])
    size_and_step = _bytes(size)
    if (
        match is None
        or url is None
        or size_and_step is None
        or size_and_step[1] > _MAX_ROUNDING * size_and_step[0]
    ):
        return None
    amount, step = size_and_step
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
    """Return the file's repository, from its field or from the address."""
    address_match = _HUB_FILE.match(size.get("gguf_url") or "")
    repo_id: str | None = size.get("gguf_repo")
    return repo_id or (address_match[1] if address_match else None)


def _counts(kind: str) -> str:
    """Return the kind of the bytes: of a file, its tensors, or tensors that are all of one type."""
    if "uniform" in kind:
        return "uniform_tensors"
    return "tensors" if kind.startswith("tensor bytes") else "file"


def _bytes(size: Row) -> tuple[int, int] | None:
    """Return the size and the printed step, both in bytes; the step is 0 for exact sizes."""
    if size.get("size_bytes") is not None:
        return size["size_bytes"], 0
    if size.get("size_bytes_from_bpw") is not None:
        return size["size_bytes_from_bpw"], round(1e-4 / 8 * size["n_params"])
    for key, unit, steps, default in _STEPS:
        if size.get(key) is not None:
            step = next((s for text, s in steps.items() if text in size["rounding"]), default)
            return round(size[key] * unit), round(step * unit)
    return None
