"""Rows -> errors per engine, component and variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bench import gguf_sizes, llama_cpp, pipelines, serving
from bench.comparison import ALL, Comparison, Summary, Tolerance, one_per_group, summarize
from bench.measurements import Row
from gpusizer.units import GIB, MIB

SWEEP = "llm-d-planner"
"""The source that measured a third of the serving rows, on one host."""

ALL_SOURCES = "all sources"
STATED = "runs that a request can state"
"""Serving rows without adapters, trainers or other tenants beside the engine."""

ANSWERS: dict[str, Callable[[Row], Iterator[Comparison]]] = {
    "serving": serving.compare,
    "llama_cpp": llama_cpp.compare,
    "gguf_size": gguf_sizes.compare,
    "pipeline": pipelines.compare,
}
TOLERANCES = {
    "weights": Tolerance(share=0.005),
    "weights_on_gpus": Tolerance(share=0.01),
    "kv_per_token": Tolerance(share=0.005),
    "kv_per_sequence": Tolerance(share=0.005),
    "kv_pool": Tolerance(share=0.03),
    "activations": Tolerance(amount=0.15 * GIB),
    "non_torch": Tolerance(amount=0.15 * GIB),
    "graphs": Tolerance(amount=0.25 * GIB),
    "max_concurrency": Tolerance(share=0.03),
    "kv_cache": Tolerance(share=0.005),
    "compute": Tolerance(share=0.15, amount=64 * MIB),
    "process_total": Tolerance(share=0.05),
    "file_size": Tolerance(share=0.02),
    "uniform_tensors": Tolerance(share=0.01),
    "pipeline_peak": Tolerance(share=0.05),
    "denoiser_peak": Tolerance(share=0.05),
    "decoder_peak": Tolerance(share=0.15),
}
"""What counts as right, per component: the column "within"."""

Key = tuple[str, str, str]
"""Engine, component, variant."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of a set of rows.

    Attributes:
        coverage: kind of row -> (rows read, rows with at least one prediction).
        comparisons: one per component and repeated configuration.
        sections: title -> errors per engine, component and variant.
        out_of_memory: runs known to have run out of memory on a card of known size.
        said_fits: IDs of those that we say fit.
    """

    coverage: dict[str, tuple[int, int]]
    comparisons: tuple[Comparison, ...]
    members: dict[str, list[Comparison]]
    sections: dict[str, dict[Key, Summary]]
    out_of_memory: int
    said_fits: tuple[str, ...]


def evaluate(rows: Iterable[Row]) -> Accuracy:
    """Predict every row and sum up."""
    listed = list(rows)
    answered = [list(ANSWERS.get(row["kind"], _unanswered)(row)) for row in listed]
    kept = one_per_group(one for comparisons in answered for one in comparisons)
    members = {ALL_SOURCES: kept}
    swept = [one for one in kept if one.source_group == SWEEP]
    if swept:
        engines = {one.engine for one in swept}
        theirs = [one for one in kept if one.engine in engines]
        odd = {row["id"] for row in listed if serving.UNASKABLE & set(row.get("flags", ()))}
        members[f"without {SWEEP}"] = [one for one in theirs if one.source_group != SWEEP]
        members[f"only {SWEEP}"] = swept
        members[STATED] = [one for one in theirs if one.row_id not in odd]
    verdicts = {
        row["id"]: serving.verdict_is_wrong(row) for row in listed if row["kind"] == "serving"
    }
    return Accuracy(
        coverage=_coverage(zip((row["kind"] for row in listed), map(bool, answered), strict=True)),
        comparisons=tuple(kept),
        members=members,
        sections={title: summaries(of) for title, of in members.items()},
        out_of_memory=sum(wrong is not None for wrong in verdicts.values()),
        said_fits=tuple(row_id for row_id, wrong in verdicts.items() if wrong),
    )


def _unanswered(row: Row) -> Iterator[Comparison]:
    """Kinds that nothing predicts yet, such as training steps."""
    return iter(())


def _coverage(answers: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for kind, answered in answers:
        rows, predicted = counts.get(kind, (0, 0))
        counts[kind] = (rows + 1, predicted + answered)
    return counts


def summaries(comparisons: Iterable[Comparison]) -> dict[Key, Summary]:
    """Errors of each component over all its rows, and of each of its variants."""
    groups: dict[Key, list[Comparison]] = {}
    for one in comparisons:
        for variant in dict.fromkeys((ALL, one.variant or ALL)):
            groups.setdefault((one.engine, one.component, variant), []).append(one)
    order = list(TOLERANCES)
    keys = sorted(groups, key=lambda key: (key[0], order.index(key[1]), key[2] != ALL, key[2]))
    return {key: summarize(groups[key], TOLERANCES[key[1]]) for key in keys}
