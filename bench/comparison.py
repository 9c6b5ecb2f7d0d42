"""One predicted number beside its measured one, and the statistics of many."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.hf_mem_answers import Rival
from gpusizer.units import GIB

ALL = "all"
"""Variant of a summary over every variant of its component."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How near is near enough: a share of the measured value or an absolute amount."""

    share: float = 0.0
    amount: float = 0.0

    def holds(self, measured: float, predicted: float) -> bool:
        """Whether either bound is kept."""
        error = abs(predicted - measured)
        return error <= max(self.share * abs(measured), self.amount)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One component of one row.

    Attributes:
        engine: engine or program measured.
        component: what was measured, such as "weights".
        variant: part of the component's rows that is also summed up apart, "" for none.
        row_id, dup_group, source_group, source_url: of the row.
        measured, predicted: in bytes, or a plain number for concurrencies.
        naive: the same by parameters times nominal bytes and the usual cache formula; None
            where such a calculator has nothing to say.
        in_bytes: the numbers are bytes.
        rival: the same by hf-mem; None where it has no such number to ask for.
    """

    engine: str
    component: str
    variant: str
    row_id: str
    dup_group: str
    source_group: str
    source_url: str
    measured: float
    predicted: float
    naive: float | None
    in_bytes: bool = True
    rival: Rival | None = None

    @property
    def error(self) -> float:
        """Predicted less measured."""
        return self.predicted - self.measured

    @property
    def relative(self) -> float:
        """Error as a share of the measured value."""
        return self.error / self.measured if self.measured else float(bool(self.error))

    @property
    def naive_error(self) -> float | None:
        return None if self.naive is None else self.naive - self.measured


@dataclass(frozen=True, slots=True)
class RivalSummary:
    """hf-mem's errors on the rows it was asked about.

    Attributes:
        asked, answered: rows, and those it gave a number for with the row's own settings.
        mean, median: of the absolute relative error, over the rows answered.
        named_answered, named_mean: the same with the cache type named.
    """

    asked: int
    answered: int
    mean: float | None
    median: float | None
    named_answered: int
    named_mean: float | None

    @property
    def named_is_alike(self) -> bool:
        """Naming the cache type changes nothing."""
        return (self.answered, self.mean) == (self.named_answered, self.named_mean)


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of one component. Shares are of the measured value; amounts in GiB (or plain).

    Attributes:
        n: rows, one per `dup_group`.
        median, mean, p95: of the absolute relative error.
        bias: mean of the signed relative error.
        mean_amount, p95_amount: of the absolute error in GiB, or of plain numbers.
        within: share of rows inside the component's tolerance.
        naive_mean, naive_mean_amount: the naive calculator's, None without one.
        hf_mem: hf-mem's errors, None where it was asked nothing.
    """

    n: int
    median: float
    mean: float
    bias: float
    p95: float
    mean_amount: float
    p95_amount: float
    within: float
    naive_mean: float | None
    naive_mean_amount: float | None
    hf_mem: RivalSummary | None


def one_per_group(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """The first of the repeated runs of one configuration, per component."""
    kept: dict[tuple[str, str, str], Comparison] = {}
    for one in comparisons:
        kept.setdefault((one.engine, one.component, one.dup_group), one)
    return list(kept.values())


def summarize(comparisons: Sequence[Comparison], tolerance: Tolerance) -> Summary:
    """Statistics of at least one comparison of a component."""
    unit = GIB if comparisons[0].in_bytes else 1
    relative = [one.relative for one in comparisons]
    shares = [abs(value) for value in relative]
    amounts = [abs(one.error) / unit for one in comparisons]
    naive = [(one.measured, one.naive_error) for one in comparisons if one.naive_error is not None]
    return Summary(
        n=len(comparisons),
        median=statistics.median(shares),
        mean=statistics.fmean(shares),
        bias=statistics.fmean(relative),
        p95=p95(shares),
        mean_amount=statistics.fmean(amounts),
        p95_amount=p95(amounts),
        within=statistics.fmean(tolerance.holds(c.measured, c.predicted) for c in comparisons),
        naive_mean=_mean(naive, lambda pair: abs(pair[1]) / abs(pair[0])),
        naive_mean_amount=_mean(naive, lambda pair: abs(pair[1]) / unit),
        hf_mem=summarize_rival(comparisons),
    )


def summarize_rival(comparisons: Iterable[Comparison]) -> RivalSummary | None:
    """hf-mem's errors where the file of its answers has the question."""
    asked = [(c.measured, c.rival) for c in comparisons if c.rival and c.rival.asked]
    if not asked:
        return None
    plain, named = (
        [abs(value - measured) / abs(measured) for measured, value in pairs if value is not None]
        for pairs in (
            [(measured, rival.value) for measured, rival in asked],
            [(measured, rival.named) for measured, rival in asked],
        )
    )
    return RivalSummary(
        asked=len(asked),
        answered=len(plain),
        mean=statistics.fmean(plain) if plain else None,
        median=statistics.median(plain) if plain else None,
        named_answered=len(named),
        named_mean=statistics.fmean(named) if named else None,
    )


def p95(values: Sequence[float]) -> float:
    """The 95th percentile by nearest rank: a value that occurred."""
    ordered = sorted(values)
    return ordered[-(-95 * len(ordered) // 100) - 1]


def _mean(
    pairs: Sequence[tuple[float, float]], amount: Callable[[tuple[float, float]], float]
) -> float | None:
    values = [amount(pair) for pair in pairs if pair[0]]
    return statistics.fmean(values) if values else None
