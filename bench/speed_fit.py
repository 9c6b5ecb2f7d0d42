"""Fits the constants of `gpusizer.speed` on measured runs, class within class.

A class is fitted on its own rows with the wider class's constants as a prior, so that one odd card
does not make a class, and a class of one format stays near its relatives. In decoding a source
weighs the root of its rows; in reading prompts, where sources differ more than cards, all weigh the
same. The runs and sources that a class or a format needs for its own constants are a `Support`. The
constants of decoding are fitted on dense models; the additional time of a layer with routed experts
is fitted on mixtures afterwards, in times of a layer: it is launches too.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bench.speed_samples import NONE, Left, Sample
from gpusizer.speed.classes import ROOT, Classes
from gpusizer.speed.tables import ANY_FORMAT, Pace, Throughput

Array = np.ndarray[Any, np.dtype[np.float64]]

PRIOR_SOURCES = 0.3  # weight of the wider class, in sources
FEWEST_SOURCES = 2
MOE_SHARES = tuple(0.1 * 1.1**i for i in range(26))
ROUTING_SHARES = tuple(0.02 * 1.2**i for i in range(40))

# No memory is read faster than this share of its nominal bandwidth: refresh, turning from writing
# to reading, and pages that are opened take the rest.
_MOST_EFFICIENT = 0.92
_EFFICIENCIES = np.geomspace(0.1, _MOST_EFFICIENT, 20)
_SECONDS = np.geomspace(5e-6, 3e-3, 26)
_UTILIZATIONS = np.geomspace(0.01, 1.6, 54)
_ZOOMS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Support:
    """Runs needed for separate constants, of FEWEST_SOURCES."""

    # of a generation or tier of cards; a kind of memory or a segment needs the sources alone
    runs: int
    format_runs: int  # of one format on it

    def suffices(
        self, rows: Sequence[Sample], left: Sequence[Sample], name: str, weight_format: str
    ) -> bool:
        """Return whether the rows of a class and format are enough, with `left` to fit on.

        A generation that several sources measured stays one while the fit leaves a source out, and
        so do its constants, by the remaining ones.
        """
        if weight_format != ANY_FORMAT:
            return _sources(left) >= FEWEST_SOURCES and len(left) >= self.format_runs
        if all(name in s.classes[-2:] for s in rows):
            return _sources(left) >= FEWEST_SOURCES
        return _sources(rows) >= FEWEST_SOURCES and len(left) >= self.runs


# generations read memory in their own ways: two runs of one tell more than all of another
DECODING = Support(runs=2, format_runs=6)
PROMPTS = Support(runs=10, format_runs=10)


def _column(rows: Sequence[Sample], name: str) -> Array:
    # Shaped for the two axes of a grid of constants.
    return np.array([getattr(row, name) for row in rows], float)[:, None, None]


def _weights(rows: Sequence[Sample], power: float) -> Array:
    # An exponent of one half leaves a source the root of its rows, one gives all sources equal
    # weight.
    counts = Counter(row.case.source for row in rows)
    return np.array([counts[row.case.source] ** -power for row in rows])[:, None, None]


def fit_pace(rows: Sequence[Sample], prior: Pace | None) -> Pace:
    """Return constants with the least mean absolute log error, drawn to the prior."""
    varying, other, fixed, measured, launched = (
        _column(rows, name) for name in ("varying", "other", "fixed", "measured", "launched")
    )
    weights = _weights(rows, 0.5)
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
        i, j = np.unravel_index(_first_least(loss), loss.shape)
        best, slow = shares[i], seconds[j]
        shares = np.minimum(_around(best, shares), _EFFICIENCIES[-1])
        seconds = _around(slow, seconds)
    return Pace(float(best), float(slow), len(rows))


def fit_throughput(rows: Sequence[Sample], prior: Throughput | None) -> Throughput:
    """Return the share of the peak with the least mean absolute log error, drawn to the prior."""
    varying, other, fixed, measured = (
        _column(rows, name)[:, 0] for name in ("varying", "other", "fixed", "measured")
    )
    weights, shares = _weights(rows, 1.0)[:, 0], _UTILIZATIONS
    for _ in range(_ZOOMS):
        steps = (varying + other) / shares + fixed
        loss = (weights * np.abs(np.log(steps / measured))).sum(axis=0)
        if prior is not None:
            loss = loss + PRIOR_SOURCES * np.abs(np.log(shares / prior.utilization))
        best = shares[_first_least(loss)]
        shares = _around(best, shares)
    return Throughput(float(best), 1.0, len(rows))


def prompt_seconds(sample: Sample, utilization: float, moe_share: float = 1.0) -> float:
    """Return seconds per prompt token."""
    share = moe_share if sample.case.work.is_moe else 1.0
    return (sample.varying / share + sample.other) / utilization + sample.fixed


def step_seconds(sample: Sample, pace: Pace, share: float = 1.0) -> float:
    """Return seconds per token of one user.

    `share` scales the additional time of a layer with routed experts.
    """
    reading, layers = sample.varying / pace.efficiency, sample.other * pace.seconds_per_layer
    layers += sample.expert_layers * (share * pace.seconds_per_expert_layer)
    return (max(reading, layers) if sample.launched else reading + layers) + sample.fixed


def fit_routing_share(rows: Sequence[tuple[Sample, Pace]], prior: float | None) -> float:
    """Return the additional time of a layer with routed experts, in times of a layer.

    0 without any rows. `rows` come with the constants of dense models on their GPUs, a layer's time
    of any format as the time of routing.
    """
    if not rows:
        return prior or 0.0
    counts = Counter(sample.case.source for sample, _ in rows)

    def loss(share: float) -> float:
        away = 0.0 if prior is None else PRIOR_SOURCES / 4 * abs(math.log(share / prior))
        return away + sum(
            abs(math.log(step_seconds(s, pace, share) / s.measured))
            / math.sqrt(counts[s.case.source])
            for s, pace in rows
        )

    return ROUTING_SHARES[_first_least([loss(share) for share in ROUTING_SHARES])]


def routed(pace: Pace, share: float) -> Pace:
    """Return constants with a share of their time for a layer with routed experts."""
    return replace(pace, seconds_per_expert_layer=share * pace.seconds_per_expert_layer)


def fit_moe_share(rows: Sequence[tuple[Sample, float]]) -> float:
    """Return the share of dense models' rate that mixtures of experts reach; 0.5 without rows.

    `rows` come with the share of the peak that dense models reach on their GPUs.
    """
    if not rows:
        return 0.5

    def loss(share: float) -> float:
        return sum(abs(math.log(prompt_seconds(s, dense, share) / s.measured)) for s, dense in rows)

    return MOE_SHARES[_first_least([loss(share) for share in MOE_SHARES])]


def _first_least(losses: ArrayLike) -> int:
    # Sums of absolute errors are level between two runs of one weight, and the last bit of a
    # logarithm differs by processor: the least alone would be another constant on another machine.
    flat = np.ravel(np.asarray(losses, dtype=float))
    return int(np.argmax(flat <= flat.min() + _ROUNDING))


def _around(value: float, grid: Array) -> Array:
    # A third of the step of the last grid.
    step = (grid[-1] / grid[-2]) ** (1 / 3)
    return value * step ** np.arange(-3.0, 4.0)


class Fits:
    """Constants of one family's classes, each fitted once.

    Fits use all rows for fitting, or leave out some GPUs and sources.
    """

    def __init__(self, decode: Sequence[Sample], prefill: Sequence[Sample]) -> None:
        self._decode = [s for s in decode if not s.case.work.is_moe and s.case.split != "tensor"]
        self._launched = any(s.launched for s in self._decode)
        self._routed = [s for s in decode if s.case.fitted and s.case.work.is_moe]
        self._prefill = [s for s in prefill if not s.case.work.is_moe]
        self._mixtures = [s for s in prefill if s.case.fitted and s.case.work.is_moe]
        self._behind_paces = _behind_classes(self._decode)
        # Fits for mixtures use the dense constants.
        self._behind_routing = _behind_classes([*self._routed, *self._decode])
        self._behind_reached = _behind_classes(self._prefill)
        self._behind_shares = _behind_classes([*self._mixtures, *self._prefill])
        self._found: dict[tuple[Classes, str, Left, str], Pace | None] = {}
        self._paces: dict[tuple[str, str, Left], Pace | None] = {}
        self._reached: dict[tuple[str, str, Left], Throughput | None] = {}
        self._shares: dict[tuple[str, Left], float] = {}
        self._routing: dict[tuple[str, Left], float] = {}

    def pace(
        self, classes: Classes, weight_format: str, without: Left = NONE, board: str = ""
    ) -> Pace | None:
        """Return constants of decoding for the narrowest of the classes, or None without rows.

        Constants of a class measured on one board alone are for that `board`, and for "".
        """
        key = (classes, weight_format, without, board)
        if key not in self._found:
            pace = self._launching(classes, weight_format, without, board)
            share = 0.0 if pace is None else self.routing_share(classes, without)
            self._found[key] = None if pace is None else routed(pace, share)
        return self._found[key]

    def _launching(
        self, classes: Classes, weight_format: str, without: Left, board: str
    ) -> Pace | None:
        # Constants of dense models, a layer's time of any format as the time of routing.
        pace = self._dense(classes, weight_format, without, board)
        of_any = self._dense(classes, ANY_FORMAT, without, board)
        if pace is None or of_any is None:
            return None
        return replace(pace, seconds_per_expert_layer=of_any.seconds_per_layer)

    def _dense(
        self, classes: Classes, weight_format: str, without: Left, board: str
    ) -> Pace | None:
        pace = wider = None
        touched = without & self._behind_paces[classes[-2:][0]]
        for name, kind in levels(classes, weight_format):
            key = (name, kind, touched)
            if key not in self._paces:
                rows = supporting(self._decode, name, kind, touched, DECODING)
                measured = chosen(self._decode, name, kind, touched)
                self._paces[key] = (
                    replace(fit_pace(rows, wider), board=only_board(measured)) if rows else None
                )
            own = self._paces[key]
            wider = own or wider  # whatever the board, as fits are kept for all boards
            if own is None or (board and name != ROOT and own.board not in ("", board)):
                own = self._by_kin(pace, classes, kind, without, board)
            pace = own
        return pace

    def has_kin(self, classes: Classes, weight_format: str) -> bool:
        """Return whether other generations may inform about a format, as they share kernels.

        Not if the host launches kernels one by one: then a format's time is the host's. Nor for
        AMD's classes: APUs and Radeons run Vulkan's kernels, Instincts ROCm's.
        """
        generation = len(classes) > 2 and not classes[0].startswith("amd")
        return generation and weight_format != ANY_FORMAT and not self._launched

    def _by_kin(
        self, pace: Pace | None, classes: Classes, weight_format: str, without: Left, board: str
    ) -> Pace | None:
        # A generation's constants with the ratio that the format has on all of its kind.
        if pace is None or not self.has_kin(classes, weight_format):
            return pace
        of_any = self._dense(classes[1:], ANY_FORMAT, without, board)
        of_format = self._dense(classes[1:], weight_format, without, board)
        if of_any is None or of_format is None:
            return pace
        efficiency = pace.efficiency * of_format.efficiency / of_any.efficiency
        return replace(
            pace,
            efficiency=min(_MOST_EFFICIENT, efficiency),
            seconds_per_layer=pace.seconds_per_layer
            * (of_format.seconds_per_layer / of_any.seconds_per_layer),
        )

    def routing_share(self, classes: Classes, without: Left = NONE) -> float:
        """Return the time of routing on the narrowest class of two sources, in times of a layer.

        If no class has them, the figure of all GPUs. Groups of GPUs count: few mixtures fit one.
        """
        share: float | None = None
        touched = without & self._behind_routing[ROOT]
        for depth in range(len(classes) - 1, -1, -1):
            key = (classes[depth], touched)
            if key not in self._routing:
                self._routing[key] = self._fitted_routing(classes[depth], share, without)
            share = self._routing[key] or share
        return share or 0.0

    def _fitted_routing(self, name: str, prior: float | None, without: Left) -> float:
        rows = chosen(self._routed, name, ANY_FORMAT, without)
        if name != ROOT and _sources(rows) < FEWEST_SOURCES:
            return prior or 0.0
        dense = [(s, self._launching(s.classes, s.format, without, s.board)) for s in rows]
        return fit_routing_share([(s, pace) for s, pace in dense if pace is not None], prior)

    def throughput(
        self, classes: Classes, weight_format: str, without: Left = NONE, board: str = ""
    ) -> Throughput | None:
        """Return constants of reading prompts for the narrowest class, fitted on dense models."""
        throughput = wider = None
        touched = without & self._behind_reached[classes[-2:][0]]
        for name, kind in levels(classes, weight_format):
            key = (name, kind, touched)
            if key not in self._reached:
                rows = supporting(self._prefill, name, kind, touched, PROMPTS)
                measured = chosen(self._prefill, name, kind, touched)
                self._reached[key] = (
                    replace(fit_throughput(rows, wider), board=only_board(measured))
                    if rows
                    else None
                )
            own = self._reached[key]
            wider = own or wider
            if own is not None and (not board or name == ROOT or own.board in ("", board)):
                throughput = own
        return throughput

    def moe_share(self, classes: Classes, without: Left = NONE) -> float:
        """Return the share of that rate for mixtures, by the vendor's memory or segment."""
        name = classes[-2] if len(classes) > 1 else ROOT
        key = (name, without & self._behind_shares[ROOT])
        if key not in self._shares:
            self._shares[key] = self._fitted_share(name, without)
        return self._shares[key]

    def _fitted_share(self, name: str, without: Left) -> float:
        rows = chosen(self._mixtures, name, ANY_FORMAT, without) or chosen(
            self._mixtures, ROOT, ANY_FORMAT, without
        )
        reached = [(s, self.throughput(s.classes, s.format, without, s.board)) for s in rows]
        return fit_moe_share([(s, r.utilization) for s, r in reached if r is not None])


def levels(classes: Classes, weight_format: str) -> list[tuple[str, str]]:
    """Return (class, format) from the widest to the narrowest; a format only in the narrowest."""
    wide = [(name, ANY_FORMAT) for name in reversed(classes)]
    return [*wide, (classes[0], weight_format)]


def chosen(samples: Sequence[Sample], name: str, weight_format: str, without: Left) -> list[Sample]:
    """Return rows of a class and format, without those of some GPUs and sources."""
    return [
        s
        for s in samples
        if name in s.classes and weight_format in (ANY_FORMAT, s.format) and not s.left_out(without)
    ]


def supporting(
    samples: Sequence[Sample], name: str, weight_format: str, without: Left, wanted: Support
) -> list[Sample]:
    """Return those of them that are fitted on; empty if too few for their own constants.

    Rows of unstated settings confirm other sources' runs: they count as support, and are fitted on
    if there are no others.
    """
    left = chosen(samples, name, weight_format, without)
    rows = chosen(samples, name, weight_format, NONE)
    enough = name == ROOT or wanted.suffices(rows, left, name, weight_format)
    return [s for s in left if s.case.fitted] or left if enough else []


def only_board(rows: Iterable[Sample]) -> str:
    """Return the one board of all rows, "" for several or no rows."""
    boards = {row.board for row in rows}
    return boards.pop() if len(boards) == 1 else ""


def _sources(rows: Iterable[Sample]) -> int:
    return len({s.case.source for s in rows})


def _behind_classes(samples: Sequence[Sample]) -> Mapping[str, set[str]]:
    # Leaving one of these names out changes the constants of the class; other fits can be shared.
    names: defaultdict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for name in sample.classes:
            names[name] |= sample.belongs_to
    return names
