"""Policies: orders of a ranking, each a cost to minimise. Unknown costs go last.

Ways that surely fit come first; equal costs go by least memory, then fastest. Costs from a doubted
price go after all others and before the unknown. Estimates by similar boards are no prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from gpusizer.fit.audience import Suitability
from gpusizer.fit.recommendation import SUITS_ONE, Conditions, Score, score_of
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.run_config import RunConfig, headroom_on
from gpusizer.fit.user_speed import SpeedEvidence
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import CostAssumptions, PlanCosts, plan_costs
from gpusizer.gpus.costs.power import plan_watts
from gpusizer.gpus.purpose import TRAINING_LEVELS, purpose_of, training_flops
from gpusizer.memory.estimate import MemoryEstimate


class Candidate(Protocol):
    """Boards to order, to serve on or to train on."""

    @property
    def score(self) -> Conditions:
        """Facts for a recommendation."""

    @property
    def slowness(self) -> float | None:
        """Sort key of the speed, least for the fastest; None if unknown."""


_Candidate = TypeVar("_Candidate", bound=Candidate)


@dataclass(frozen=True)
class RankedCandidate:
    """One way to run the model that a policy ranks."""

    config: RunConfig
    speed: float | None  # likely tokens/s of one user, None if unknown
    tokens_per_second: float | None  # likely, of all users together; None if unknown
    assumptions: CostAssumptions
    enough: float = READING_SPEED  # tokens/s that each user should see
    evidence: SpeedEvidence | None = None  # evidence of the speed
    # likely seconds of a picture or clip, None for other models and if unknown
    drawn: float | None = None
    suitability: Suitability = SUITS_ONE  # of the way for the audience

    @property
    def slowness(self) -> float | None:
        """Seconds of a picture, else minus tokens/s of one user."""
        if self.drawn is not None:
            return self.drawn
        return None if self.speed is None else -self.speed

    @property
    def output_per_second(self) -> float | None:
        """Tokens of all users, or pictures."""
        return 1 / self.drawn if self.drawn else self.tokens_per_second

    @cached_property
    def costs(self) -> PlanCosts:
        """Costs of the plan."""
        return plan_costs(
            self.config.gpu,
            self.config.boards,
            self.tokens_per_second,
            self.assumptions,
            seconds_per_picture=self.drawn,
        )

    @cached_property
    def score(self) -> Score:
        """Facts for a recommendation."""
        return score_of(
            self.config, self.speed, self.enough, self.costs, self.evidence, self.suitability
        )


# Compared from the first to the last; all keys of one policy have the same length.
SortKey = tuple[float, ...]

Policy = Callable[[RankedCandidate], SortKey | None]
LAST: SortKey = (math.inf,)


def in_order(
    candidates: Iterable[_Candidate], cost: Callable[[_Candidate], SortKey | None]
) -> list[_Candidate]:
    """Return the candidates in the order of a policy."""

    def place(candidate: _Candidate) -> tuple[bool, SortKey, SortKey, float]:
        is_tight = candidate.score.verdict is Verdict.TIGHT
        slowness = candidate.slowness or 0.0
        return is_tight, cost(candidate) or LAST, _total_memory(candidate), slowness

    return sorted(candidates, key=place)


def _total_memory(candidate: Candidate) -> SortKey:
    return (candidate.score.gpu.memory_bytes * candidate.score.boards,)


def _price(candidate: RankedCandidate) -> SortKey | None:
    gpu = candidate.config.gpu
    usd = gpu.buy_usd
    return None if usd is None else (float(gpu.price_is_doubted), usd * candidate.config.boards)


def _slowness(candidate: Candidate) -> SortKey | None:
    return None if candidate.slowness is None else (candidate.slowness,)


def _usd_of_output(candidate: RankedCandidate) -> SortKey | None:
    # A million tokens or a thousand pictures, rented or owned, whichever costs less.
    costs = candidate.costs
    if candidate.drawn is not None:
        return _least_cost(costs, costs.lowest_usd_per_thousand_pictures)
    return _least_cost(costs, costs.lowest_usd_per_million_tokens)


def _usd_per_hour(candidate: RankedCandidate) -> SortKey | None:
    # Rented or owned, whichever costs less.
    costs = candidate.costs
    return _least_cost(costs, costs.lowest_usd_per_hour)


def _price_of_speed(candidate: RankedCandidate) -> SortKey | None:
    # US dollars of purchase for each token or picture per second.
    price, speed = _price(candidate), candidate.output_per_second
    return None if price is None or not speed else (price[0], price[1] / speed)


def _power_of_speed(candidate: RankedCandidate) -> SortKey | None:
    # Watts of boards and hosts for each token or picture per second: joules of one.
    watts = plan_watts(candidate.config.gpu, candidate.config.boards)
    speed = candidate.output_per_second
    return None if watts is None or not speed else (watts / speed,)


def _free_memory(candidate: RankedCandidate) -> SortKey:
    config = candidate.config
    return (-free_bytes(config.gpu, config.boards, config.estimate),)


def _for_training(candidate: RankedCandidate) -> SortKey | None:
    # The level of training first, then dense 16-bit throughput of the boards that it uses. Boards
    # count if a fabric of their own joins them, else as one: sharding over PCIe has been measured
    # to cost up to two thirds (BAdam's readme, ZeRO-3 on four RTX 3090).
    gpu = candidate.config.gpu
    level, rate = purpose_of(gpu).training, training_flops(gpu)
    if level is None or rate is None:
        return None
    boards = candidate.config.boards
    if not gpu.fabric_joins(boards):
        boards = gpu.interconnect_domain or 1
    return (TRAINING_LEVELS.index(level), -rate * boards)


def _for_inference(candidate: RankedCandidate) -> SortKey | None:
    # GPUs that suit inference and exceed READING_SPEED first, then the cheapest tokens or pictures.
    # An unknown cost goes after the known ones of the same fitness.
    level = purpose_of(candidate.config.gpu).inference
    if level is None or candidate.slowness is None:
        return None
    fitness = {"none": 2.0, "light": 1.0}.get(level, 0.0)
    cost = _usd_of_output(candidate) or (math.inf, math.inf)
    slow = candidate.speed is not None and candidate.speed < READING_SPEED
    return (fitness, float(slow), *cost)


def free_bytes(gpu: Gpu, boards: int, estimate: MemoryEstimate) -> int:
    """Return bytes to spare on all devices of `boards`, at the likely values."""
    return headroom_on(gpu, estimate) * boards * gpu.devices_per_board


def _least_cost(costs: PlanCosts, usd: float | None) -> SortKey | None:
    # A cost from a doubted price goes after all others.
    is_doubted = costs.buy_is_doubted and costs.rent_usd_per_hour is None
    return None if usd is None else (float(is_doubted), usd)


# Name -> cost to minimise, to serve and to train.
ORDERS: dict[str, Callable[[Candidate], SortKey | None]] = {
    "recommended": lambda candidate: candidate.score.key,
    "smallest": _total_memory,
    "fastest": _slowness,
}
# Name -> cost to minimise, to serve.
POLICIES: dict[str, Policy] = {
    "recommended": ORDERS["recommended"],
    "smallest": ORDERS["smallest"],
    "cheapest": _price,
    "fastest": ORDERS["fastest"],
    "cheapest_to_run": _usd_of_output,
    "cheapest_per_hour": _usd_per_hour,
    "tokens_per_dollar": _price_of_speed,
    "tokens_per_watt": _power_of_speed,
    "headroom": _free_memory,
    "training": _for_training,
    "inference": _for_inference,
}
