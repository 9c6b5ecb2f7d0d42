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
    """Errors of one component under one engine, as shares of the measured value.

    Attributes:
        engine, component: what was measured.
        n: rows, one per repeated configuration.
        median, mean, p95: of absolute errors.
        bias: mean of signed errors.
        mean_gib: mean absolute error in GiB, None for what is not memory.
        left_out: errors of each row without what its own source alone supports.
        first_contact: errors of rows when they arrived, None where none is known.
        naive_mean: mean error of the naive calculator, None where it predicts nothing.
        hf_mem: hf-mem's errors, None where it predicts nothing.
        worst: the signed error furthest off, and where that measurement is published.
    """

    engine: str
    component: str
    n: int
    median: float
    mean: float
    bias: float
    p95: float
    mean_gib: float | None
    left_out: Shared
    first_contact: Shared | None
    naive_mean: float | None
    hf_mem: RivalSummary | None
    worst: float
    worst_url: str


@dataclass(frozen=True, slots=True)
class AuthorRow:
    """What an author says of a model, with the verdict of an answer and its reason.

    Attributes:
        claim: in figures, such as "4 × H100, bf16".
        verdict: a CardVerdict's value.
        source_url: where the author says it.
    """

    model: str
    claim: str
    verdict: str
    reason: Note
    source_url: str


@dataclass(frozen=True, slots=True)
class QualityErrors:
    """Errors of the losses that quantizations are expected to have, without the source of a row.

    Attributes:
        n: published ratios of perplexities.
        median_factor, p80_factor: between measured and likely increase, of half and 80 % of them.
        in_band, word_exact, word_near: shares for which the band holds, the word is the measured
            one, and it is that or the next.
    """

    n: int
    median_factor: float
    p80_factor: float
    in_band: float
    word_exact: float
    word_near: float


@dataclass(frozen=True, slots=True)
class SpeedsLeftOut:
    """Median and mean errors of a component of speeds, as shares, without each row's source, its
    card, or its generation of cards; every source weighs the same."""

    component: str
    n: int
    source: tuple[float, float]
    card: tuple[float, float]
    generation: tuple[float, float]


@dataclass(frozen=True, slots=True)
class AccuracyTable:
    """Errors by section: "memory", "training" and "speed", and runs with something that no request
    can state, "apart".

    Attributes:
        as_of: date of the last change.
        measured, predicted: published rows, and those compared with an answer.
        out_of_memory, said_fits: runs that ran out of memory, and those said to fit.
        ran, said_not: runs that ran, and those said not to fit.
        hf_mem: release of hf-mem that was asked.
        authors: claims of model cards with their verdicts.
        quality: errors of what quantizations lose; None where the file has none.
        speeds_left_out: what is left of speeds' errors without source, card and generation.
    """

    as_of: str
    measured: int
    predicted: int
    out_of_memory: int
    said_fits: int
    ran: int
    said_not: int
    hf_mem: str
    sections: Mapping[str, tuple[ErrorRow, ...]]
    authors: tuple[AuthorRow, ...] = ()
    quality: QualityErrors | None = None
    speeds_left_out: tuple[SpeedsLeftOut, ...] = ()


@cache
def load_accuracy() -> AccuracyTable:
    """The published table."""
    return accuracy_from_json(json.loads(FILE.read_text("utf-8")))


def accuracy_from_json(data: StoredObject) -> AccuracyTable:
    """The table in `data/generated/accuracy.json`. Raises KeyError for a gap."""
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
    """Mean error, and rows answered of those asked about; or with the cache type `named`.

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
