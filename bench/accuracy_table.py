"""Errors of predictions against published measurements, as `bench.accuracy` last wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from bench.errors import RivalSummary, Shared
from gpusizer.core.loose_values import StoredObject
from gpusizer.core.messages import Note
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.units import percent_text

FILE = GENERATED_DIR / "accuracy.json"


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Errors of one component under one engine, as shares of the measured value."""

    engine: str
    component: str
    n: int  # rows, one per repeated configuration
    median: float  # of absolute errors, like `mean` and `p95`
    mean: float
    bias: float  # mean of signed errors
    p95: float
    mean_gib: float | None  # mean absolute error in GiB, None unless it is memory
    left_out: Shared  # errors of each row without the constants of its own source
    first_contact: Shared | None  # errors of rows when they arrived, or None if unknown
    naive_mean: float | None  # mean error of the naive calculator, or None without a prediction
    hf_mem: RivalSummary | None  # hf-mem's errors, or None without a prediction
    worst: float  # largest signed error
    worst_url: str  # publication of that measurement


@dataclass(frozen=True, slots=True)
class AuthorRow:
    """An author's statement about a model, with an answer's verdict and reason."""

    model: str
    claim: str  # in figures, such as "4 × H100, bf16"
    verdict: str  # value of a CardVerdict
    reason: Note
    source_url: str  # address of the statement


@dataclass(frozen=True, slots=True)
class QualityErrors:
    """Errors of expected losses of quantizations, without the source of a row."""

    n: int  # published ratios of perplexities
    median_factor: float  # between measured and likely increase, for half of them
    p80_factor: float  # the same for 80 % of them
    in_band: float  # share within the band
    word_exact: float  # share with the measured word
    word_near: float  # share with that word or the next


@dataclass(frozen=True, slots=True)
class SpeedsLeftOut:
    """Median and mean errors of a component of speeds, as shares, with a part left out.

    Left out are each row's source, its card, or its generation of cards; every source weighs the
    same.
    """

    component: str
    n: int
    source: tuple[float, float]
    card: tuple[float, float]
    generation: tuple[float, float]


@dataclass(frozen=True, slots=True)
class AccuracyTable:
    """Errors by section: "memory", "training", "speed", and "apart" for unstatable runs."""

    as_of: str  # date of the last change
    measured: int  # published rows
    predicted: int  # rows compared with an answer
    out_of_memory: int  # runs that ran out of memory
    said_fits: int  # those of them with the verdict that they fit
    ran: int  # runs that ran
    said_not: int  # those of them with the verdict that they do not fit
    hf_mem: str  # release of hf-mem
    sections: Mapping[str, tuple[ErrorRow, ...]]
    authors: tuple[AuthorRow, ...] = ()  # claims of model cards with their verdicts
    quality: QualityErrors | None = None  # errors of expected losses, or None if the file has none
    # errors of speeds without source, card and generation
    speeds_left_out: tuple[SpeedsLeftOut, ...] = ()


@cache
def load_accuracy() -> AccuracyTable:
    """Return the published table."""
    return accuracy_from_json(json.loads(FILE.read_text("utf-8")))


def accuracy_from_json(data: StoredObject) -> AccuracyTable:
    """Return the table in `data/generated/accuracy.json`. Raises KeyError for a missing field."""
    return AccuracyTable(
        as_of=data["as_of"],
        measured=sum(rows for rows, _ in data["rows"].values()),
        predicted=sum(predicted for _, predicted in data["rows"].values()),
        out_of_memory=data["out_of_memory"],
        said_fits=data["said_fits"],
        ran=data["ran"],
        said_not=data["said_not"],
        hf_mem=data["hf_mem"],
        sections={name: tuple(map(_row, rows)) for name, rows in data["sections"].items()},
        authors=tuple(
            AuthorRow(**{**row, "reason": Note.from_json(row["reason"])})
            for row in data.get("authors", ())
        ),
        quality=QualityErrors(**data["quality"]) if "quality" in data else None,
        speeds_left_out=tuple(SpeedsLeftOut(**row) for row in data.get("speeds_left_out", ())),
    )


def _row(data: StoredObject) -> ErrorRow:
    read = {
        "left_out": Shared(**data["left_out"]),
        "first_contact": Shared(**data["first_contact"]) if data["first_contact"] else None,
        "hf_mem": RivalSummary(**data["hf_mem"]) if data["hf_mem"] else None,
        "worst": data["worst"]["relative"],
        "worst_url": data["worst"]["source_url"],
    }
    return ErrorRow(**{name: data[name] for name in ErrorRow.__slots__ if name not in read}, **read)


def rival_text(errors: RivalSummary | None, *, named: bool = False) -> str:
    """Write the mean error, and answered rows of all; or with the cache type `named`.

    >>> rival_text(RivalSummary(122, 121, 0.0153, 0.0045, 121, 0.0153))
    '1.5% (121/122)'
    >>> rival_text(None)
    '—'
    """
    if errors is None:
        return percent_text(None)
    mean, answered = errors.mean, errors.answered
    if named:
        mean, answered = errors.named_mean, errors.named_answered
    return f"{percent_text(mean)} ({answered}/{errors.asked})"
