"""Fits the constants of servers on published runs.

A constant is a product of factors by class (`gpusizer/serving/constants.py`). All factors are
fitted together: the sum of atan |log(predicted / measured)| over rates, times of each token and
first tokens, every source with the same weight whatever its number of runs, plus the distance of
each factor from its prior, so that a class with few runs stays near its relatives. The arc tangent
is the error itself if that is small, and is bounded for a run that an unstated cause has made
several times as slow. Each round makes the model linear in the logarithms of the factors and solves
a weighted least-squares problem (Gauss-Newton, with weights that turn squares into that sum).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.served_answers import EACH, FIRST, RATE
from bench.serving_cases import Case
from gpusizer.serving.constants import GENERATION_CLASSES, NAMES, Key, classes_of
from gpusizer.serving.server import Server
from gpusizer.speed.classes import ROOT

Array = np.ndarray[Any, np.dtype[np.float64]]
Factors = dict[Key, float]

# start of the fit, and its result without runs
PRIORS: dict[str, float] = {
    "reading": 0.75,
    "experts": 0.7,
    "cache": 0.6,
    "products": 0.5,
    "attention": 0.3,
    "traffic": 0.75,
    "reduce_seconds": 10e-6,
    "step_seconds": 1e-3,
    "layer_seconds": 20e-6,
    "sequence_seconds": 10e-6,
    "stream_seconds": 50e-6,
    "request_seconds": 4e-3,
    "launch_seconds": 1e-3,
}

# Standard deviation of the logarithm of a constant, of a class's factor, and of the factor of a
# generation of engines, whose schedulers were rewritten.
ROOT_SPREAD, CLASS_SPREAD, GENERATION_SPREAD = 0.7, 0.2, 0.5
_LINKS = ("pcie", "pcie_peer", "nodes")

# Factors with a better or worse known prior: NCCL's all-reduce of large messages has three quarters
# of NVLink's rate (github.com/NVIDIA/nccl-tests: 370 of 450 GB/s on H100, issue 212; 200 and 208 of
# 300 on A100, issues 149 and 178), while slots, bridges between sockets and copies through memory
# leave PCIe anything. The latency of small ones differs likewise: engines send them through kernels
# of their own if NVLink joins all cards or there are but two, and through NCCL elsewhere
# (`should_custom_ar` of vllm/distributed/device_communicators/custom_all_reduce.py).
_SPREADS = {
    ("traffic", ROOT): 0.1,
    **{("traffic", link): 0.7 for link in _LINKS},
    **{("reduce_seconds", link): 0.7 for link in ("fabric", *_LINKS)},
    **{("launch_seconds", kind): 0.5 for kind in ("dense", "experts")},
}

# first tokens count less: the client's start moves them more than any constant
_IMPORTANCE = {RATE: 1.0, EACH: 1.0, FIRST: 0.5}
_PRIOR_WEIGHT = 0.05  # of all factors, in sources
_STEP = 0.02
_SMALL = 0.08
_CLIP = 1.0


@dataclass
class Problem:
    """Cases, the factors to fit, and the sources of each factor's runs."""

    cases: Sequence[Case]
    keys: list[Key]
    sources: Mapping[Key, set[str]]

    @classmethod
    def from_cases(cls, cases: Sequence[Case]) -> Problem:
        """Return the problem with factors of every class that a case belongs to."""
        sources: dict[Key, set[str]] = defaultdict(set)
        for case in cases:
            for key in keys_of(case):
                sources[key].add(case.source)
        keys = sorted(sources, key=lambda k: (NAMES.index(k[0]), k[1] != ROOT, k[1]))
        return cls(cases, keys, sources)

    def factors(self, theta: Array, without: str | None = None) -> Factors:
        """Return the factors that others may use: those of two sources.

        A factor of one source alone is fitted too, so that the source distorts no shared constant,
        but stays with it.
        """
        every = factors_of(self, theta)
        return {k: v for k, v in every.items() if len(self.sources[k] - {without}) > 1}

    def start(self) -> Array:
        """Return logarithms of the factors before the fit."""
        return np.array([math.log(PRIORS[n]) if c == ROOT else 0.0 for n, c in self.keys])

    def spreads(self) -> Array:
        """Return standard deviations of the priors."""
        return np.array([_spread(key) for key in self.keys])


def _spread(key: Key) -> float:
    if key[1] == ROOT:
        usual = ROOT_SPREAD
    else:
        usual = GENERATION_SPREAD if key[1] in GENERATION_CLASSES.values() else CLASS_SPREAD
    return _SPREADS.get(key, usual)


def keys_of(case: Case) -> list[Key]:
    """Return the factors of a case's constants."""
    return [(name, each) for name, classes in classes_of(case.facts).items() for each in classes]


def factors_of(problem: Problem, theta: Array) -> Factors:
    """Return the factors of their logarithms."""
    return {key: math.exp(value) for key, value in zip(problem.keys, theta, strict=True)}


def residuals(case: Case, factors: Mapping[Key, float]) -> dict[str, float]:
    """Return log(predicted / measured) of each quantity that the case measured."""
    predicted = case.predicted(factors)
    return {
        name: math.log(predicted[name] / value)
        for name, value in case.measured.items()
        if name in predicted
    }


def quick_residuals(case: Case, factors: Mapping[Key, float]) -> dict[str, float]:
    """Return these residuals by steady states, whose slopes are nearly those of the simulation."""
    predicted = case.on(Server.from_facts(case.facts, factors))
    return {
        name: math.log(predicted[name] / value)
        for name, value in case.measured.items()
        if name in predicted
    }


@dataclass
class Linear:
    """Model around a point: residuals and slopes, with the source and quantity of each."""

    values: Array
    slopes: Array
    sources: list[str]
    quantities: list[str]


def linearize(problem: Problem, theta: Array) -> Linear:
    """Return residuals of every case at a point, and their differences for each of its factors."""
    place = {key: i for i, key in enumerate(problem.keys)}
    values, slopes, sources, quantities = [], [], [], []
    factors = factors_of(problem, theta)
    for case in problem.cases:
        exact, here = residuals(case, factors), quick_residuals(case, factors)
        rows = {name: np.zeros(len(theta)) for name in here}
        for name, classes in classes_of(case.facts).items():
            key = (name, ROOT)
            original = factors[key]
            factors[key] = original * math.exp(_STEP)
            there = quick_residuals(case, factors)
            factors[key] = original
            for quantity in here:
                slope = (there.get(quantity, here[quantity]) - here[quantity]) / _STEP
                for each in classes:
                    rows[quantity][place[name, each]] = slope
        for quantity in here:
            values.append(exact.get(quantity, here[quantity]))
            slopes.append(rows[quantity])
            sources.append(case.source)
            quantities.append(quantity)
    return Linear(np.array(values), np.array(slopes), sources, quantities)


def solve(
    problem: Problem, theta: Array, linear: Linear, without: str | None, rounds: int = 8
) -> Array:
    """Return the next point: the least weighted error of the linear model, and of the priors."""
    start, spreads = problem.start(), problem.spreads()
    base = np.array([_IMPORTANCE[q] for q in linear.quantities])
    counts = Counter(zip(linear.sources, linear.quantities, strict=True))
    base /= np.array([counts[k] for k in zip(linear.sources, linear.quantities, strict=True)])
    if without is not None:
        base *= np.array([0.0 if s == without else 1.0 for s in linear.sources])
    delta = np.zeros(len(theta))
    for _ in range(rounds):
        errors = linear.values + linear.slopes @ delta
        weights = base / np.maximum(np.abs(errors), _SMALL) / (1 + errors**2)
        prior = _PRIOR_WEIGHT / spreads**2
        normal = linear.slopes.T @ (weights[:, None] * linear.slopes) + np.diag(prior)
        right = -linear.slopes.T @ (weights * linear.values) - prior * (theta - start)
        delta = np.clip(np.linalg.solve(normal, right), -_CLIP, _CLIP)
    return np.asarray(theta + delta)


def fit(problem: Problem, rounds: int = 6) -> Array:
    """Return the point after some rounds from the priors."""
    theta = problem.start()
    for _ in range(rounds):
        theta = solve(problem, theta, linearize(problem, theta), None)
    return theta


def left_out(problem: Problem, theta: Array, linear: Linear, source: str) -> Array:
    """Return the point without a source: two rounds from the point with it."""
    there = solve(problem, theta, linear, source)
    return solve(problem, there, linearize(problem, there), source)


def medians(errors: Mapping[str, Sequence[float]]) -> float:
    """Return the median of sources' medians of absolute errors."""
    return float(np.median([np.median(np.abs(v)) for v in errors.values()]))


def by_source(
    cases: Sequence[Case], predictions: Sequence[Mapping[str, float]], quantity: str
) -> dict[str, list[float]]:
    """Return relative errors of a quantity by source."""
    errors: dict[str, list[float]] = defaultdict(list)
    for case, predicted in zip(cases, predictions, strict=True):
        if quantity in case.measured and quantity in predicted:
            errors[case.source].append(predicted[quantity] / case.measured[quantity] - 1)
    return dict(errors)
