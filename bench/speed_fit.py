"""Fits the constants of `gpusizer.fit.speed` on measured runs, class within class.

A class is fitted on its own rows with the wider class's constants as a prior worth a few rows,
so that one odd card does not make a class, and a class of one format stays near its kin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.speed_cases import Case
from gpusizer.fit.speed.classes import ROOT, Classes, decode_classes, prefill_classes
from gpusizer.fit.speed.decode import step_cost
from gpusizer.fit.speed.prefill import prompt_cost
from gpusizer.fit.speed.tables import ANY_FORMAT, Pace, Throughput

PRIOR_ROWS = 2.0
"""What the wider class weighs, in rows."""
MOE_SHARES = tuple(0.1 * 1.1**i for i in range(26))

_EFFICIENCIES = tuple(0.1 * 1.18**i for i in range(15))
_SECONDS = tuple(5e-6 * 1.6**i for i in range(13))
_UTILIZATIONS = tuple(0.01 * 1.1**i for i in range(54))
_HIGHEST_EFFICIENCY = 1.0
_ZOOMS = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One row, reduced to what a fit needs: how its prediction depends on two constants."""

    case: Case
    classes: Classes
    varying: float
    other: float
    fixed: float
    measured: float

    @property
    def format(self) -> str:
        return self.case.work.format


def decode_samples(cases: Iterable[Case]) -> list[Sample]:
    """Runs of one user: seconds = varying / efficiency + other x per layer + fixed."""
    samples = []
    for case in cases:
        rate, cost = case.measured("decode"), step_cost(case.work, case.gpu, 1)
        if rate and cost and case.concurrency == 1 and case.fitted:
            classes = decode_classes(case.gpu)
            varying = cost.reading + cost.cache
            samples.append(Sample(case, classes, varying, cost.layers, cost.fixed, 1 / rate))
    return samples


def prefill_samples(cases: Iterable[Case]) -> list[Sample]:
    """Prompts: seconds per token = (varying / share + other) / utilization + fixed."""
    samples = []
    for case in cases:
        rate, cost = case.measured("prefill"), prompt_cost(case.prompt_work, case.gpu)
        if rate and cost and case.split != "tensor" and case.fitted:
            classes = prefill_classes(case.gpu)
            samples.append(
                Sample(case, classes, cost.products, cost.attention, cost.fixed, 1 / rate)
            )
    return samples


def fit_pace(rows: Sequence[Sample], prior: Pace | None) -> Pace:
    """Constants with the least mean absolute log error, drawn to the prior."""

    def loss(efficiency: float, seconds: float) -> float:
        total = sum(
            abs(math.log((s.varying / efficiency + s.other * seconds + s.fixed) / s.measured))
            for s in rows
        )
        if prior is not None:
            away = abs(math.log(efficiency / prior.efficiency))
            total += PRIOR_ROWS * (away + abs(math.log(seconds / prior.seconds_per_layer)) / 4)
        return total

    grids = (_EFFICIENCIES, _SECONDS)
    for _ in range(_ZOOMS):
        _, best, slow = min((loss(e, t), e, t) for e in grids[0] for t in grids[1])
        grids = (_around(best, grids[0], _HIGHEST_EFFICIENCY), _around(slow, grids[1], 1.0))
    return Pace(best, slow, len(rows))


def fit_throughput(rows: Sequence[Sample], prior: Throughput | None) -> Throughput:
    """Likewise for the share of the peak."""

    def loss(share: float) -> float:
        total = sum(abs(math.log(prompt_seconds(s, share) / s.measured)) for s in rows)
        return total + (
            PRIOR_ROWS * abs(math.log(share / prior.utilization)) if prior is not None else 0
        )

    grid = _UTILIZATIONS
    for _ in range(_ZOOMS):
        best = min(grid, key=loss)
        grid = _around(best, grid, math.inf)
    return Throughput(best, 1.0, len(rows))


def prompt_seconds(sample: Sample, utilization: float, moe_share: float = 1.0) -> float:
    """Seconds per prompt token."""
    share = moe_share if sample.case.work.is_moe else 1.0
    return (sample.varying / share + sample.other) / utilization + sample.fixed


def fit_moe_share(rows: Sequence[tuple[Sample, float]]) -> float:
    """What mixtures of experts leave of the rate of dense models; 0.5 with none to go by.

    `rows` come with the share of the peak that dense models reach on their GPUs.
    """
    if not rows:
        return 0.5

    def loss(share: float) -> float:
        return sum(abs(math.log(prompt_seconds(s, dense, share) / s.measured)) for s, dense in rows)

    return min(MOE_SHARES, key=loss)


def _around(value: float, grid: Sequence[float], highest: float) -> tuple[float, ...]:
    """A finer grid about a value, a third of the step of the last."""
    step = (grid[1] / grid[0]) ** (1 / 3)
    return tuple(min(highest, value * step**i) for i in range(-3, 4))


class Fits:
    """Constants of one family's classes, each fitted once: of all rows, or without one GPU's or one
    source's."""

    def __init__(self, decode: Sequence[Sample], prefill: Sequence[Sample]) -> None:
        self._decode = decode
        self._prefill = [s for s in prefill if not s.case.work.is_moe]
        self._mixtures = [s for s in prefill if s.case.work.is_moe]
        self._paces: dict[tuple[str, str, str], Pace | None] = {}
        self._reached: dict[tuple[str, str, str], Throughput | None] = {}
        self._shares: dict[tuple[str, str], float] = {}

    def pace(self, classes: Classes, weight_format: str, without: str = "") -> Pace | None:
        """Constants of decoding for the narrowest of the classes; None without any rows."""
        pace = None
        for name, kind in levels(classes, weight_format):
            rows = chosen(self._decode, name, kind, without)
            key = (name, kind, _touched(self._decode, classes[-2:], without))
            if key not in self._paces:
                self._paces[key] = fit_pace(rows, pace) if rows else None
            pace = self._paces[key] or pace
        return pace

    def throughput(
        self, classes: Classes, weight_format: str, without: str = ""
    ) -> Throughput | None:
        """Constants of reading prompts likewise, fitted on dense models."""
        throughput = None
        for name, kind in levels(classes, weight_format):
            rows = chosen(self._prefill, name, kind, without)
            key = (name, kind, _touched(self._prefill, classes[-2:], without))
            if key not in self._reached:
                self._reached[key] = fit_throughput(rows, throughput) if rows else None
            throughput = self._reached[key] or throughput
        return throughput

    def moe_share(self, classes: Classes, without: str = "") -> float:
        """What mixtures of experts leave of it, for the vendor's memory or segment."""
        name = classes[-2] if len(classes) > 1 else ROOT
        key = (name, without)
        if key not in self._shares:
            self._shares[key] = self._fitted_share(name, without)
        return self._shares[key]

    def _fitted_share(self, name: str, without: str) -> float:
        rows = chosen(self._mixtures, name, ANY_FORMAT, without) or chosen(
            self._mixtures, ROOT, ANY_FORMAT, without
        )
        reached = [(s, self.throughput(s.classes, s.format, without)) for s in rows]
        return fit_moe_share([(s, r.utilization) for s, r in reached if r is not None])


def levels(classes: Classes, weight_format: str) -> list[tuple[str, str]]:
    """(class, format) from the widest to the narrowest; a format only in the narrowest class."""
    wide = [(name, ANY_FORMAT) for name in reversed(classes)]
    return [*wide, (classes[0], weight_format)]


def chosen(samples: Sequence[Sample], name: str, weight_format: str, without: str) -> list[Sample]:
    """Rows of a class and format, without those of one GPU or source."""
    return [
        s
        for s in samples
        if name in s.classes
        and weight_format in (ANY_FORMAT, s.format)
        and without not in (s.case.held_out, s.case.source)
    ]


def _touched(samples: Sequence[Sample], wide: Classes, without: str) -> str:
    """`without` where leaving it out changes the class; "" shares the fit of all rows."""
    same = any(
        without in (s.case.held_out, s.case.source) and wide[0] in s.classes for s in samples
    )
    return without if same else ""
