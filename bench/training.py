"""Compares published training runs with public answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from bench.errors import Comparison, nearest_rank
from bench.front_door import Answer, gpu_of, train_report
from bench.measurements import Row
from gpusizer.core.units import GIB
from gpusizer.usecases.requests.training_request import PLAN_FIELDS

# methods that a request can state; rows of others (prefix tuning, LISA, …) are left out
METHODS = frozenset({"full", "lora", "qlora", "dora", "galore"})

# fields that a row needs for its memory to be predictable
STATED = ("sequence_length", "micro_batch", "gpu_count", "precision")

ENGINE = "training"  # name of the rows in tables, instead of an engine

_HELD_DIGITS = 4
_DATE = re.compile(r"\b20\d\d(?:[.-]\d{1,2}){0,2}\b")  # Unsloth's versions are dates
_FITTING = ("fits", "tight")
_COUNTERS = {"allocated": "allocated", "reserved": "reserved"}


@dataclass(frozen=True, slots=True)
class Prediction:
    """A run and the public answer to its request; bytes are of one GPU."""

    row: Row
    answer: Answer

    @property
    def measured(self) -> int:
        """The measured peak in bytes; 0 for runs without one."""
        value: int = self.row.get("measured", {}).get("peak_bytes", 0)
        return value

    @property
    def predicted(self) -> int:
        """Predicted bytes by the run's metric: tensors, the allocator's pool, or the device."""
        return self.bytes_at("")

    @property
    def inside(self) -> bool:
        """Whether the measured peak lies in the printed band."""
        return self.bytes_at("low_") <= self.measured <= self.bytes_at("high_")

    @property
    def _requested_estimate(self) -> dict[str, Any]:
        estimate: dict[str, Any] = next(e for e in self.answer["estimates"] if e["asked"])
        return estimate

    @property
    def trainable(self) -> int:
        return int(self._requested_estimate["trainable_parameters"])

    @property
    def loading_bytes(self) -> int:
        """Peak of PyTorch's counter up to the loaded model, in bytes."""
        return int(self._requested_estimate["per_gpu"]["loading_bytes"])

    def bytes_at(self, end: str) -> int:
        """Return the likely bytes (""), or an end of the band ("low_", "high_")."""
        counter = _COUNTERS.get(self.row["metric"])
        per_gpu = self._requested_estimate["per_gpu"]
        total_field = {"": "total_bytes", "low_": "low_bytes", "high_": "high_bytes"}[end]
        return int(per_gpu[f"{counter}_{end}bytes" if counter else total_field])

    @property
    def relative(self) -> float:
        """Error as a share of the measured peak."""
        return self.predicted / self.measured - 1

    @property
    def fits(self) -> bool | None:
        """The printed verdict; None for an answer without a card."""
        if not self.answer["workload"]["gpu"]:
            return None
        return self.answer["ranking"][0]["verdict"] in _FITTING

    @property
    def component(self) -> str:
        return "peak_one_gpu" if self.row["gpu_count"] == 1 else "peak_several_gpus"


def complete(row: Row) -> bool:
    """Whether a row states all settings that affect memory, and is not of low confidence."""
    if row["method"] not in METHODS or row["confidence"] == "low":
        return False
    if row["method"] in ("lora", "qlora", "dora") and not row.get("lora_rank"):
        return False
    return all(row.get(name) is not None for name in STATED)


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request."""
    names = {*PLAN_FIELDS, "gpu_count"}
    settings = {name: value for name, value in row.items() if name in names}
    date = _DATE.search(row.get("framework_version", ""))
    return {
        **settings,
        "model": row["profile"],
        "gpu": gpu_of(row),
        "framework": row["stack"],
        "framework_version": date and date[0],
    }


def predict(row: Row) -> Prediction | None:
    """Return the answer to a run's request, None if it is refused."""
    answer = train_report(fields_of(row))
    return None if answer is None else Prediction(row, answer)


def compare(row: Row) -> Iterator[Comparison]:
    """Compare the peak of a complete run, its trainable parameters and its loaded weights.

    Numbers that a row does not state are skipped.
    """
    measured = row.get("measured", {})
    askable = row["outcome"] == "ran" and row["method"] in METHODS and row["confidence"] != "low"
    counts = row.get("trainable_parameters"), measured.get("loaded_bytes")
    peak = measured.get("peak_bytes") and complete(row)
    run = predict(row) if askable and (peak or any(counts)) else None
    if run is None:
        return
    of = partial(Comparison.with_error, row, ENGINE, variant=f"{row['stack']} {row['method']}")
    if counts[0]:
        yield of("trainable_parameters", counts[0], run.trainable, in_bytes=False)
    if counts[1]:
        yield of("loaded_weights", counts[1], run.loading_bytes)
    if peak:
        band = (run.bytes_at("low_"), run.bytes_at("high_"))
        yield of(run.component, run.measured, run.predicted, band=band)


def predictions(rows: Iterable[Row]) -> list[Prediction]:
    """Return a prediction per measurement, of complete runs with a peak."""
    by_group: dict[str, Prediction] = {}
    for row in rows:
        printed = row["outcome"] == "ran" and row.get("measured", {}).get("peak_bytes")
        if printed and complete(row) and row["dup_group"] not in by_group:
            run = predict(row)
            if run is not None:
                by_group[row["dup_group"]] = run
    return list(by_group.values())


def sections(predicted: Iterable[Prediction]) -> pd.DataFrame:
    """Return errors of one GPU and of several, then by framework and method, a line per section.

    `n` runs; `mean`, `median` and `p90` of absolute errors as shares of the measured peak; `bias`,
    the mean signed error; `inside`, the share of runs in the printed band.
    """
    runs = pd.DataFrame(
        [
            (
                [run.component, f"{run.component}, {run.row['stack']} {run.row['method']}"],
                run.relative,
                run.inside,
            )
            for run in predicted
        ],
        columns=["section", "relative", "inside"],
    ).explode("section")
    runs["size"] = runs["relative"].abs()
    groups = runs.groupby("section")
    sizes = groups["size"]
    return pd.DataFrame(
        {
            "n": sizes.size(),
            "mean": sizes.mean(),
            "median": sizes.median(),
            "p90": sizes.agg(lambda values: nearest_rank(values, 90)),
            "bias": groups["relative"].mean(),
            "inside": groups["inside"].mean(),
        }
    )


def verdicts(rows: Iterable[Row]) -> tuple[list[Prediction], list[Prediction]]:
    """Return the runs on named cards: those that ran out of memory, and those that ran."""
    out, ran = [], []
    for row in rows:
        if row["method"] not in METHODS or row["confidence"] == "low":
            continue
        if not {"sequence_length", "micro_batch"} <= set(row) or row["gpu_count"] is None:
            continue
        run = predict(row)
        if run is not None and run.fits is not None:
            (out if row["outcome"] == "out_of_memory" else ran).append(run)
    return out, ran


def report_lines(rows: Iterable[Row], worst: int) -> Iterator[str]:
    """Yield the lines of errors, verdicts, and the worst runs with their sources."""
    listed = list(rows)
    predicted = predictions(listed)
    yield f"training: {len(listed)} rows, {len(predicted)} complete measurements with a prediction"
    shares = ["mean", "median", "p90", "bias", "inside"]
    yield sections(predicted).to_string(formatters=dict.fromkeys(shares, "{:.1%}".format))
    out, ran = verdicts(listed)
    yield ""
    yield f"ran out of memory: {len(out)}, said to fit: {_names(run for run in out if run.fits)}"
    yield f"ran: {len(ran)}, said not to fit: {_names(run for run in ran if not run.fits)}"
    for component in ("peak_one_gpu", "peak_several_gpus"):
        yield ""
        yield f"worst: {component}"
        runs = [run for run in predicted if run.component == component]
        for run in sorted(runs, key=lambda run: -abs(run.relative))[:worst]:
            yield (
                f"  {run.relative:>+7.1%}  measured {run.measured / GIB:.1f} GiB, predicted"
                f" {run.predicted / GIB:.1f}  {run.row['id']}  {run.row['source_url']}"
            )


def _names(runs: Iterable[Prediction]) -> str:
    names = [run.row["id"] for run in runs]
    return " ".join([str(len(names)), *names])
