"""Predictions for the published sizes of GGUF files."""

from __future__ import annotations

from collections.abc import Iterator

from bench import naive
from bench.comparison import Comparison
from bench.llama_cpp import gguf_quant, text_profile
from bench.measurements import Row
from gpusizer.quants.gguf import header_bytes
from gpusizer.quants.table import as_published
from gpusizer.weight_sizes import weight_sizes

ENGINE = "gguf"
# Recipes that give every tensor one type; the others mix, so tensors of one type are not theirs.
_UNIFORM = frozenset({"gguf-f16", "q8_0"})


def compare(row: Row) -> Iterator[Comparison]:
    """The size of a file, or of its tensors, at a recipe that gpusizer knows.

    By the types of whoever published it, where they are known (data/gguf_publishers.csv).
    """
    profile = text_profile(row["profile"])
    known = gguf_quant(row["quant"], profile)
    if known is None:
        return
    quant, native = known
    quant = as_published(quant, row.get("gguf_repo", "").partition("/")[0])
    uniform = row["counts"] == "uniform_tensors"
    if uniform and quant.slug not in _UNIFORM:
        return
    predicted = weight_sizes(profile, quant, native=native).total
    if row["counts"] == "file":
        predicted += header_bytes(profile.architecture)
    yield Comparison(
        ENGINE,
        "uniform_tensors" if uniform else "file_size",
        quant.slug,
        row["id"],
        row["dup_group"],
        row["source_group"],
        row["source_url"],
        row["bytes"],
        predicted,
        naive.weights_bytes(profile, quant, native=native),
    )
