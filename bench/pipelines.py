"""Compares published peaks of diffusers pipelines with public answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench import rivals
from bench.errors import Comparison
from bench.front_door import estimate_of, gpu_of, size
from bench.measurements import Row, load_profile
from gpusizer.memory.quants import find_quant

ENGINE = "diffusers"
_WIDTHS = {"F32": "fp32", "F16": "bf16", "BF16": "bf16"}


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request."""
    names = ("width", "height", "frames", "cpu_offload")
    return {
        "model": row["profile"],
        "quant": row.get("quant") or _WIDTHS[row["weight_dtype"]],
        "gpu": gpu_of(row),
        "concurrency": row.get("images"),
        **{name: row.get(name) for name in names},
    }


def compare(row: Row) -> Iterator[Comparison]:
    """Compare the peak that PyTorch counted, which excludes the CUDA context.

    Answers are about whole pipelines: rows of a denoiser or a decoder alone are skipped.
    """
    fields = fields_of(row)
    answer = size(fields) if row["scope"] == "pipeline" else None
    if answer is None:
        return
    per_gpu = estimate_of(answer)["per_gpu"]
    naive = rivals.naive_weights_bytes(
        load_profile(row["profile"]), find_quant(fields["quant"]), native=False
    )
    yield Comparison.with_error(
        row,
        ENGINE,
        "pipeline_peak",
        row["measured"]["peak_bytes"],
        per_gpu["weights_bytes"] + per_gpu["activations_bytes"],
        (1 + rivals.NAIVE_OVERHEAD) * naive,
        variant=row.get("cpu_offload", ""),
        apart=bool(row.get("without")),
    )
