"""Fits the constants of `gpusizer.fit.speed` on measured runs, class within class.

A class is fitted on its own rows with the wider class's constants as a prior, so that one odd card
does not make a class, and a class of one format stays near its kin. Every source weighs the same,
however many rows it has. A class narrower than a kind of memory or a segment has constants of its
own where FEWEST_RUNS runs of FEWEST_SOURCES sources are behind them; the rest share its.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.speed_cases import Case
from gpusizer.fit.speed.classes import ROOT, Classes, decode_classes, prefill_classes
from gpusizer.fit.speed.decode import step_cost
from gpusizer.fit.speed.prefill import prompt_cost
from gpusizer.fit.speed.tables import ANY_FORMAT, Pace, Throughput

Array = np.ndarray[Any, np.dtype[np.float64]]

PRIOR_SOURCES = 0.3
"""What the wider class weighs, in sources."""
FEWEST_RUNS = 10
FEWEST_SOURCES = 2
MOE_SHARES = tuple(0.1 * 1.1**i for i in range(26))

_EFFICIENCIES = np.geomspace(0.1, 1.0, 20)
_SECONDS = np.geomspace(5e-6, 3e-3, 26)
_UTILIZATIONS = np.geomspace(0.01, 1.6, 54)
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
    launched: bool = False

    @property
    def format(self) -> str:
        return self.case.work.format

    def left_out(self, without: Left) -> bool:
        """Whether a fit without these GPUs and sources is one without this row."""
        return self.case.held_out in without or self.case.source in without


Left = frozenset[str]
"""GPUs and sources that a fit leaves out."""
NONE: Left = frozenset()


def decode_samples(cases: Iterable[Case]) -> list[Sample]:
    """Runs of one user: seconds = varying / efficiency + other x per layer + fixed."""
    samples = []
    for case in cases:
        rate, cost = case.measured("decode"), step_cost(case.work, case.gpu, 1)
        if rate and cost and case.concurrency == 1:
            classes = decode_classes(case.gpu)
            varying = cost.reading + cost.cache
            samples.append(
                Sample(case, classes, varying, cost.layers, cost.fixed, 1 / rate, cost.launched)
            )
    return samples


def prefill_samples(cases: Iterable[Case]) -> list[Sample]:
    """Prompts: seconds per token = (varying / share + other) / utilization + fixed."""
    samples = []
    for case in cases:
        rate, cost = case.measured("prefill"), prompt_cost(case.prompt_work, case.gpu)
        if rate and cost and case.split != "tensor":
            classes, side_by_side = prefill_classes(case.gpu), cost.pipelined
            varying, other, fixed = (
                side_by_side * part for part in (cost.products, cost.attention, cost.fixed)
            )
            samples.append(Sample(case, classes, varying, other, fixed, 1 / rate))
    return samples


def _column(rows: Sequence[Sample], name: str) -> Array:
    """A field of all rows, beside the two axes of a grid of constants."""
    return np.array([getattr(row, name) for row in rows], float)[:, None, None]


def _weights(rows: Sequence[Sample]) -> Array:
    """One for each source, divided over its rows."""
    counts = Counter(row.case.source for row in rows)
    return np.array([1 / counts[row.case.source] for row in rows])[:, None, None]


def fit_pace(rows: Sequence[Sample], prior: Pace | None) -> Pace:
    """Constants with the least mean absolute log error, drawn to the prior."""
    varying, other, fixed, measured, launched = (
        _column(rows, name) for name in ("varying", "other", "fixed", "measured", "launched")
    )
    weights = _weights(rows)
    shares, seconds = _EFFICIENCIES, _SECONDS
    for _ in range(_ZOOMS):
        share, per_layer = np.meshgrid(shares, seconds, indexing="ij")
        reading, layers = varying / share, other * per_layer
        steps = np.where(launched, np.maximum(reading, layers), reading + layers) + fixed
        loss = (weights * np.abs(np.log(steps / measured))).sum(axis=0)
        if prior is not None:
            away = np.abs(np.log(share / prior.efficiency))
            away = away + np.abs(np.log(per_layer / prior.seconds_per_layer)) / 4
            loss = loss + PRIOR_SOURCES * away
        i, j = np.unravel_index(loss.argmin(), loss.shape)
        best, slow = shares[i], seconds[j]
        shares = np.minimum(_around(best, shares), _EFFICIENCIES[-1])
        seconds = _around(slow, seconds)
    return Pace(float(best), float(slow), len(rows))


def fit_throughput(rows: Sequence[Sample], prior: Throughput | None) -> Throughput:
    """Likewise for the share of the peak."""
    varying, other, fixed, measured = (
        _column(rows, name)[:, 0] for name in ("varying", "other", "fixed", "measured")
    )
    weights, shares = _weights(rows)[:, 0], _UTILIZATIONS
    for _ in range(_ZOOMS):
        steps = (varying + other) / shares + fixed
        loss = (weights * np.abs(np.log(steps / measured))).sum(axis=0)
        if prior is not None:
            loss = loss + PRIOR_SOURCES * np.abs(np.log(shares / prior.utilization))
        best = shares[loss.argmin()]
        shares = _around(best, shares)
    return Throughput(float(best), 1.0, len(rows))


def prompt_seconds(sample: Sample, utilization: float, moe_share: float = 1.0) -> float:
    """Seconds per prompt token."""
    share = moe_share if sample.case.work.is_moe else 1.0
    return (sample.varying / share + sample.other) / utilization + sample.fixed


def step_seconds(sample: Sample, pace: Pace) -> float:
    """Seconds per token of one user."""
    reading, layers = sample.varying / pace.efficiency, sample.other * pace.seconds_per_layer
    return (max(reading, layers) if sample.launched else reading + layers) + sample.fixed


def fit_moe_share(rows: Sequence[tuple[Sample, float]]) -> float:
    """What mixtures of experts leave of the rate of dense models; 0.5 with none to go by.

    `rows` come with the share of the peak that dense models reach on their GPUs.
    """
    if not rows:
        return 0.5

    def loss(share: float) -> float:
        return sum(abs(math.log(prompt_seconds(s, dense, share) / s.measured)) for s, dense in rows)

    return min(MOE_SHARES, key=loss)


def _around(value: float, grid: Array) -> Array:
    """A finer grid about a value, a third of the step of the last."""
    step = (grid[-1] / grid[-2]) ** (1 / 3)
    return value * step ** np.arange(-3.0, 4.0)


class Fits:
    """Constants of one family's classes, each fitted once: of all rows that are fitted on, or
    without some GPUs and sources."""

    def __init__(self, decode: Sequence[Sample], prefill: Sequence[Sample]) -> None:
        self._decode = decode
        self._prefill = [s for s in prefill if not s.case.work.is_moe]
        self._mixtures = [s for s in prefill if s.case.fitted and s.case.work.is_moe]
        self._paces: dict[tuple[str, str, Left], Pace | None] = {}
        self._reached: dict[tuple[str, str, Left], Throughput | None] = {}
        self._shares: dict[tuple[str, Left], float] = {}

    def pace(self, classes: Classes, weight_format: str, without: Left = NONE) -> Pace | None:
        """Constants of decoding for the narrowest of the classes; None without any rows."""
        pace = None
        for name, kind in levels(classes, weight_format):
            key = (name, kind, _touched(self._decode, classes[-2:], without))
            if key not in self._paces:
                rows = supporting(self._decode, name, kind, without)
                self._paces[key] = fit_pace(rows, pace) if rows else None
            pace = self._paces[key] or pace
        return pace

    def throughput(
        self, classes: Classes, weight_format: str, without: Left = NONE
    ) -> Throughput | None:
        """Constants of reading prompts likewise, fitted on dense models."""
        throughput = None
        for name, kind in levels(classes, weight_format):
            key = (name, kind, _touched(self._prefill, classes[-2:], without))
            if key not in self._reached:
                rows = supporting(self._prefill, name, kind, without)
                self._reached[key] = fit_throughput(rows, throughput) if rows else None
            throughput = self._reached[key] or throughput
        return throughput

    def moe_share(self, classes: Classes, without: Left = NONE) -> float:
        """What mixtures of experts leave of it, for the vendor's memory or segment."""
        name = classes[-2] if len(classes) > 1 else ROOT
        key = (name, _touched(self._mixtures, (name, ROOT), without))
        if key not in self._shares:
            self._shares[key] = self._fitted_share(name, without)
        return self._shares[key]

    def _fitted_share(self, name: str, without: Left) -> float:
        rows = chosen(self._mixtures, name, ANY_FORMAT, without) or chosen(
            self._mixtures, ROOT, ANY_FORMAT, without
        )
        reached = [(s, self.throughput(s.classes, s.format, without)) for s in rows]
        return fit_moe_share([(s, r.utilization) for s, r in reached if r is not None])


def levels(classes: Classes, weight_format: str) -> list[tuple[str, str]]:
    """(class, format) from the widest to the narrowest; a format only in the narrowest class."""
    wide = [(name, ANY_FORMAT) for name in reversed(classes)]
    return [*wide, (classes[0], weight_format)]


def chosen(samples: Sequence[Sample], name: str, weight_format: str, without: Left) -> list[Sample]:
    """Rows of a class and format, without those of some GPUs and sources."""
    return [
        s
        for s in samples
        if name in s.classes and weight_format in (ANY_FORMAT, s.format) and not s.left_out(without)
    ]


def supporting(
    samples: Sequence[Sample], name: str, weight_format: str, without: Left
) -> list[Sample]:
    """The same of those that are fitted on, none where they are too few for constants of their own.

    A kind of memory or a segment wants two sources as well. Rows on record of first contact bear
    out what other sources' runs give: they count as support, though nothing is fitted on them.
    """
    rows = chosen(samples, name, weight_format, without)
    fitted = [s for s in rows if s.case.fitted]
    wide = weight_format == ANY_FORMAT and all(name in s.classes[-2:] for s in rows)
    sources, fewest = {s.case.source for s in rows}, FEWEST_SOURCES if wide else FEWEST_RUNS
    enough = len(rows) >= fewest and len(sources) >= FEWEST_SOURCES
    return fitted if enough or name == ROOT else []


def _touched(samples: Sequence[Sample], wide: Classes, without: Left) -> Left:
    """What of `without` changes the class when it is left out; the rest shares a fit."""
    concerned = [s.case for s in samples if wide[0] in s.classes]
    return without & {name for case in concerned for name in (case.held_out, case.source)}
