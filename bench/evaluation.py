"""Computes the errors of the public answers, per engine and component, in three columns.

*All rows* counts every configuration once. *Source left out* predicts each row without the
constants that only its own source supports, and gives every source the same weight. *First contact*
are the errors that rows had when they were added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import pandas as pd

from bench import (
    first_contact,
    left_out,
    llama_cpp,
    pipelines,
    quality,
    served_answers,
    speed_answers,
    start_up_logs,
    training,
)
from bench.errors import Comparison, Errors, Shared, frame_of, one_per_group, shared, summarize
from bench.measurements import ALL_TABLES, Row, load
from bench.speed_cases import read_cases
from bench.speed_scores import Scores, score
from bench.speed_tables import constants_without

# function that compares a row, by its kind; rows of other kinds have no comparisons
PREDICTORS: dict[str, Callable[[Row], Iterator[Comparison]]] = {
    "serving": start_up_logs.compare,
    "llama_cpp": llama_cpp.compare,
    "gguf_size": llama_cpp.compare_file,
    "pipeline": pipelines.compare,
    "training": training.compare,
    "throughput": speed_answers.compare,
    "quality": quality.compare,
    "serving_load": served_answers.compare,
}

# every component in the order of the tables
COMPONENTS = (
    "weights",
    "weights_on_gpus",
    "kv_per_token",
    "kv_per_sequence",
    "kv_pool",
    "activations",
    "non_torch",
    "graphs",
    "max_concurrency",
    "kv_cache",
    "compute",
    "process_total",
    "file_size",
    "uniform_tensors",
    "pipeline_peak",
    "trainable_parameters",
    "loaded_weights",
    "peak_one_gpu",
    "peak_several_gpus",
    "decode_gddr",
    "decode_hbm",
    "decode_apple",
    "decode_amd",
    "decode_intel",
    "decode_other",
    "decode_moe",
    "decode_split",
    "decode_eager",
    "decode_tensor",
    "prefill",
    "serving",
    "served_rate",
    "served_each",
    "served_first",
)

MEMORY, TRAINING, SPEED, APART = "memory", "training", "speed", "apart"

Key = tuple[str, str]  # engine and component


@dataclass(frozen=True, slots=True)
class Columns:
    """Errors of one component: of all rows, with each row's source left out, at first contact.

    `contact` is None if all rows of the component are older than the record of first contacts.
    """

    all_rows: Errors
    left_out: Shared
    contact: Shared | None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Counts of runs on cards that a request can name, and IDs of those with a wrong verdict."""

    out_of_memory: int = 0
    said_fits: tuple[str, ...] = ()
    ran: int = 0
    said_not: tuple[str, ...] = ()

    def __add__(self, addend: Verdicts) -> Verdicts:
        return Verdicts(
            self.out_of_memory + addend.out_of_memory,
            self.said_fits + addend.said_fits,
            self.ran + addend.ran,
            self.said_not + addend.said_not,
        )


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of a set of rows."""

    coverage: dict[str, tuple[int, int]]  # by kind: (rows read, rows with at least one comparison)
    # as `errors.frame_of` lays them out, one per component and repeated configuration; `left_out`
    # is the relative error without the row's source, and `left_out_in_band` whether the measurement
    # lies in the band then
    comparisons: pd.DataFrame
    # memory, training and speed: errors per engine and component; "apart" are runs that no request
    # can state
    sections: dict[str, dict[Key, Columns]]
    verdicts: Verdicts


@cache
def published_accuracy() -> Accuracy:
    """Return the errors of every row of `data/measurements`, computed once per process."""
    return evaluate(load(ALL_TABLES))


def evaluate(rows: Iterable[Row]) -> Accuracy:
    """Predict every row with and without its source, and return the errors."""
    listed = list(rows)
    per_row = [compared(row) for row in listed]
    comparisons = one_per_group(frame_of(chain.from_iterable(per_row)))
    comparisons = _with_left_out(comparisons, listed)
    contacts = first_contact.read()
    sections: dict[str, dict[Key, Columns]] = {}
    for name, members in _parts(comparisons):
        if not members.empty:
            sections[name] = summaries(members, contacts)
    return Accuracy(_coverage(listed, per_row), comparisons, sections, verdicts(listed))


def compared(row: Row) -> list[Comparison]:
    """Compare every number that the row measured and that the answer to its request shows."""
    predictor = PREDICTORS.get(row["kind"])
    return list(predictor(row)) if predictor else []


def _with_left_out(comparisons: pd.DataFrame, rows: Sequence[Row]) -> pd.DataFrame:
    by_id = {row["id"]: row for row in rows}
    timed = {row["source_group"] for row in rows if row["kind"] == "throughput"}
    parts = []
    for source, members in comparisons.groupby("source_group", sort=False):
        errors_without = members
        if str(source) in timed or left_out.matters(str(source)):
            ids = list(dict.fromkeys(members["row_id"]))
            errors_without = _compared_without(
                str(source), [by_id[row_id] for row_id in ids], timed
            )
        errors_without = errors_without.set_index(["row_id", "component"])[["relative", "in_band"]]
        parts.append(errors_without[~errors_without.index.duplicated()])
    if not parts:
        return comparisons.assign(left_out=0.0, left_out_in_band=0.0)
    errors_without = pd.concat(parts).rename(
        columns={"relative": "left_out", "in_band": "left_out_in_band"}
    )
    return comparisons.join(errors_without, on=["row_id", "component"])


def _compared_without(source: str, rows: Sequence[Row], timed: set[str]) -> pd.DataFrame:
    constants = constants_without(speed_scores(), source) if source in timed else None
    with left_out.without(source, constants):
        return frame_of(chain.from_iterable(map(compared, rows)))


@cache
def speed_scores() -> Scores:
    """Return the fits of all speeds in `data/measurements`."""
    return score(read_cases())


def _parts(comparisons: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    is_apart = comparisons["apart"].astype(bool)
    for name in (TRAINING, SPEED):
        yield name, comparisons[~is_apart & (comparisons["engine"] == name)]
    yield MEMORY, comparisons[~is_apart & ~comparisons["engine"].isin((TRAINING, SPEED))]
    yield APART, comparisons[is_apart]


def _coverage(
    rows: Sequence[Row], compared: Sequence[list[Comparison]]
) -> dict[str, tuple[int, int]]:
    kinds = pd.Series([row["kind"] for row in rows], dtype=object)
    counts = pd.Series(list(map(bool, compared)), dtype=bool).groupby(kinds, sort=False)
    return {
        str(kind): (int(rows_read), int(with_comparison))
        for kind, rows_read, with_comparison in counts.agg(["size", "sum"]).itertuples()
    }


def summaries(comparisons: pd.DataFrame, contacts: pd.DataFrame) -> dict[Key, Columns]:
    """Return the errors of each component of each engine."""
    errors: dict[Key, Columns] = {}
    for (engine, component), rows in comparisons.groupby(["engine", "component"]):
        first_errors = contacts[contacts["id"].isin(rows["row_id"])]
        first_errors = first_errors[first_errors["quantity"] == component]
        contact = None
        if not first_errors.empty:
            contact = shared(
                first_errors["error"], first_errors["source_group"], first_errors["in_band"]
            )
        errors[str(engine), str(component)] = Columns(
            summarize(rows),
            shared(rows["left_out"], rows["source_group"], rows["left_out_in_band"]),
            contact,
        )
    return dict(sorted(errors.items(), key=lambda e: (e[0][0], COMPONENTS.index(e[0][1]))))


def verdicts(rows: Iterable[Row]) -> Verdicts:
    """Count the verdicts on runs that ran out of memory and on runs that ran."""
    listed = list(rows)
    total = Verdicts()
    for row in listed:
        if row["kind"] == "serving":
            total += _of_outcome(row, start_up_logs.says_it_fits(row))
    out, ran = training.verdicts(row for row in listed if "stack" in row)
    for run in (*out, *ran):
        total += _of_outcome(run.row, run.fits)
    return total


def _of_outcome(row: Row, fits: bool | None) -> Verdicts:
    if fits is None or row["outcome"] == "failed":
        return Verdicts()
    name = (row["id"],)
    if row["outcome"] == "out_of_memory":
        return Verdicts(out_of_memory=1, said_fits=name if fits else ())
    return Verdicts(ran=1, said_not=() if fits else name)
