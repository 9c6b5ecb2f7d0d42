"""The order of GPUs that train a model, and what else one could choose instead of the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from gpusizer.answers.training_report import RankedTraining, TrainingAlternative
from gpusizer.fit.alternatives import price_to_buy
from gpusizer.fit.policies import SortKey
from gpusizer.fit.recommendation import can_be_rented
from gpusizer.fit.verdict import Verdict


def in_order(items: Sequence[RankedTraining], rank_by: str) -> tuple[RankedTraining, ...]:
    """GPUs ranked by a policy: what surely fits leads; equal costs go by memory, then by speed."""

    def place(item: RankedTraining) -> tuple[bool, SortKey, SortKey]:
        tight = item.fit.verdict is Verdict.TIGHT
        return tight, _COSTS[rank_by](item), (*_memory(item), *_slowness(item))

    ordered = enumerate(sorted(items, key=place), start=1)
    return tuple(replace(item, rank=rank, rank_by=rank_by) for rank, item in ordered)


def alternatives_of(ranking: Sequence[RankedTraining]) -> tuple[TrainingAlternative, ...]:
    """The cheapest to buy, the fastest and the cheapest to rent, of those that surely fit on GPUs
    whose software lives on and that train well, in one computer (`fit/alternatives.py`); kinds that
    nothing is known of are left out.
    """
    fit = [
        item
        for item in ranking
        if item.fit.verdict is Verdict.FITS
        and item.score.ended_support is None
        and item.score.trains is not False
    ]
    alternatives = []
    for kind, key_of in _ALTERNATIVES.items():
        known = [(key, item) for item in fit if (key := key_of(item)) is not None]
        if known:
            _, best = min(known, key=lambda pair: pair[0])
            alternatives.append(TrainingAlternative(kind, best, ranking[0]))
    return tuple(alternatives)


def _memory(item: RankedTraining) -> SortKey:
    return (float(item.fit.gpu.memory_bytes * item.fit.count),)


def _rented_run(item: RankedTraining) -> SortKey:
    return (math.inf if item.cost.usd is None else item.cost.usd,)


def _slowness(item: RankedTraining) -> SortKey:
    return (-item.rate.likely if item.rate else 0.0,)


_COSTS: dict[str, Callable[[RankedTraining], SortKey]] = {
    "recommended": lambda item: item.score.key,
    "smallest": _memory,
    "cheapest": _rented_run,
    "fastest": _slowness,
}
"""Policy -> what is least for the best."""


def _price(item: RankedTraining) -> SortKey | None:
    return price_to_buy(item.fit.gpu, item.fit.count, item.costs.today)


def _pace(item: RankedTraining) -> SortKey | None:
    """Tokens/s of boards in one computer that somebody sells or rents out."""
    known = item.rate is not None and not item.score.not_on_offer and not item.score.computer
    return _slowness(item) if known else None


def _rent(item: RankedTraining) -> SortKey | None:
    """US dollars of the run; what misses a condition comes last."""
    if item.cost.usd is None or not can_be_rented(item.fit.gpu, item.fit.count):
        return None
    return (float(bool(item.score.missed())), item.cost.usd)


_ALTERNATIVES: dict[str, Callable[[RankedTraining], SortKey | None]] = {
    "cheapest": _price,
    "fastest": _pace,
    "rent": _rent,
}
