"""Comparisons of predicted with measured numbers, and statistics of their errors by pandas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bench.measurements import Row
from bench.rivals import Rival
from gpusizer.core.units import GIB


@dataclass(frozen=True, slots=True)
class Comparison:
    """The measured and the predicted number of one component of one row."""

    engine: str  # engine or program of the run
    component: str  # measured part, such as "weights"
    variant: str  # part of the component's rows that also gets statistics of its own, or ""
    row_id: str  # field of the row, like the next three
    dup_group: str
    source_group: str
    source_url: str
    measured: float  # in bytes, or a plain number for concurrencies
    predicted: float
    # prediction by parameters times nominal bytes and the usual cache formula, or None
    naive: float | None
    in_bytes: bool = True  # whether the numbers are bytes
    rival: Rival | None = None  # prediction by hf-mem, or None
    apart: bool = False  # whether no request can state the run; such rows have their own section
    low: float | None = None  # ends of the printed band, or None
    high: float | None = None

    @classmethod
    def with_error(
        cls,
        row: Row,
        engine: str,
        component: str,
        measured: float,
        predicted: float,
        naive: float | None = None,
        *,
        variant: str = "",
        in_bytes: bool = True,
        rival: Rival | None = None,
        apart: bool = False,
        band: Sequence[float | None] = (None, None),
    ) -> Comparison:
        """Return the comparison of a row, whose fields state its source."""
        group, sources = row.get("dup_group", row["id"]), (row["source_group"], row["source_url"])
        about = (engine, component, variant, row["id"], group, *sources)
        return cls(*about, measured, predicted, naive, in_bytes, rival, apart, *band)


_COLUMNS = [field.name for field in fields(Comparison)]


def frame_of(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Build a frame with a line per comparison: its fields and its errors.

    Added are `unit` (GiB in bytes, or 1), `relative` (error as a share of the measured value),
    `in_band` (1 if the measured value lies in the printed band, NaN without one) and
    `hf_mem_asked`, `hf_mem`, `hf_mem_named` (hf-mem's numbers, NaN without one).
    """
    rows = [[getattr(comparison, name) for name in _COLUMNS] for comparison in comparisons]
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    numbers = ["measured", "predicted", "naive", "low", "high"]
    frame[numbers] = frame[numbers].astype(float)
    frame["unit"] = frame["in_bytes"].map({True: GIB, False: 1})
    frame["relative"] = relative_errors(frame["measured"], frame["predicted"])
    inside = frame["measured"].between(frame["low"], frame["high"]).astype(float)
    frame["in_band"] = inside.where(frame["low"].notna())
    rivals = [rival if rival and rival.asked else None for rival in frame["rival"]]
    frame["hf_mem_asked"] = [rival is not None for rival in rivals]
    frame["hf_mem"] = pd.Series([rival and rival.value for rival in rivals], dtype=float)
    frame["hf_mem_named"] = pd.Series([rival and rival.named for rival in rivals], dtype=float)
    return frame


def one_per_group(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the first of the repeated runs of one configuration, per component."""
    return frame.drop_duplicates(["engine", "component", "dup_group"]).reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class RivalSummary:
    """hf-mem's errors on the rows for which it was run."""

    asked: int  # number of rows
    answered: int  # rows with a number for the row's own settings
    mean: float | None  # of the absolute relative error over answered rows, like `median`
    median: float | None
    named_answered: int  # with an explicit cache type, like `named_mean`
    named_mean: float | None

    @property
    def named_is_alike(self) -> bool:
        """Whether an explicit cache type does not change the errors."""
        return (self.answered, self.mean) == (self.named_answered, self.named_mean)


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of all rows of a component: shares of the measured value, amounts in GiB."""

    n: int  # number of rows, one per `dup_group`
    median: float  # of the absolute relative error, like `mean` and `p95`
    mean: float
    bias: float  # mean of the signed relative error
    p95: float
    mean_amount: float | None  # mean absolute error in GiB, None for numbers that are not bytes
    naive_mean: float | None  # the naive calculator's mean, None without one
    hf_mem: RivalSummary | None  # hf-mem's errors, None where it was not run


def summarize(rows: pd.DataFrame) -> Errors:
    """Return statistics of at least one comparison of a component."""
    measured, sizes = rows["measured"], rows["relative"].abs()
    amounts = (rows["predicted"] - measured).abs() / rows["unit"]
    naive_errors = (rows["naive"] - measured).abs().where(measured != 0)
    return Errors(
        n=len(rows),
        median=sizes.median(),
        mean=sizes.mean(),
        bias=rows["relative"].mean(),
        p95=nearest_rank(sizes, 95),
        mean_amount=amounts.mean() if rows["in_bytes"].all() else None,
        naive_mean=optional((naive_errors / measured.abs()).mean()),
        hf_mem=summarize_rival(rows),
    )


@dataclass(frozen=True, slots=True)
class Shared:
    """Errors in which every source has the same weight, whatever its number of rows."""

    n: int
    sources: int
    median: float  # of the absolute relative error, like `mean` and `p95`
    mean: float
    p95: float
    bias: float  # mean of the signed relative error
    in_band: float | None  # share of rows inside the printed band, None without a printed band


def shared(errors: pd.Series, sources: pd.Series, in_band: pd.Series) -> Shared:
    """Return statistics of relative errors, where the rows of a source share a weight of one.

    >>> shared(pd.Series([0.1, 0.3, -0.6]), pd.Series(["a", "a", "b"]), pd.Series([1.0, 0, 1])).mean
    0.4
    """
    has_error = errors.notna()
    errors, sources, in_band = (
        errors[has_error],
        sources[has_error],
        in_band[has_error].astype(float),
    )
    weights = 1 / sources.groupby(sources).transform("size")
    banded = in_band.notna()
    band_sources = sources[banded]
    shares = in_band[banded].groupby(band_sources).mean()
    return Shared(
        n=len(errors),
        sources=sources.nunique(),
        median=weighted_rank(errors.abs(), weights, 0.50),
        mean=round(float((errors.abs() * weights).sum() / weights.sum()), 12),
        p95=weighted_rank(errors.abs(), weights, 0.95),
        bias=(errors * weights).sum() / weights.sum(),
        in_band=optional(shares.mean()),
    )


def weighted_rank(values: ArrayLike, weights: ArrayLike, share: float) -> float:
    """Return the smallest value that, with all below, has at least this share of the weight.

    >>> weighted_rank([3.0, 1.0, 2.0], [0.5, 0.25, 0.25], 0.5)
    2.0
    """
    amounts, weighed = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    order = np.argsort(amounts, kind="stable")
    reached = np.cumsum(weighed[order]) >= share * weighed.sum() - 1e-9
    return float(amounts[order][reached][0])


def summarize_rival(rows: pd.DataFrame) -> RivalSummary | None:
    """Return hf-mem's errors, None if its file has no answer for any of the rows."""
    with_question = rows[rows["hf_mem_asked"]]
    if with_question.empty:
        return None
    plain, with_named_type = (
        relative_errors(with_question["measured"], with_question[column]).abs().dropna()
        for column in ("hf_mem", "hf_mem_named")
    )
    return RivalSummary(
        asked=len(with_question),
        answered=len(plain),
        mean=optional(plain.mean()),
        median=optional(plain.median()),
        named_answered=len(with_named_type),
        named_mean=optional(with_named_type.mean()),
    )


def relative_errors(measured: pd.Series, predicted: pd.Series) -> pd.Series:
    """Return signed errors as shares of the measured value; for a measured 0, 0 or else 1."""
    error = predicted - measured
    return (error / measured).where(measured != 0, (error != 0).astype(float))


def nearest_rank(values: pd.Series, percent: int) -> float:
    """Return a percentile by nearest rank, so that it is one of the values.

    >>> nearest_rank(pd.Series(range(1, 101)), 95), nearest_rank(pd.Series([3, 1]), 90)
    (95, 3)
    """
    rank = -(-percent * len(values) // 100)
    return values.sort_values().iloc[rank - 1].item()


def between_tails(values: pd.Series, tail: float) -> tuple[float, float]:
    """Return the lowest and highest value after cutting off the share `tail` at each end.

    >>> between_tails(pd.Series(range(20)), 0.05)
    (1, 18)
    """
    ordered = values.sort_values()
    cut = int(tail * len(ordered))
    return ordered.iloc[cut].item(), ordered.iloc[-1 - cut].item()


def optional(value: float) -> float | None:
    """Return None for NaN, which pandas returns for statistics of no values."""
    return None if math.isnan(value) else value
