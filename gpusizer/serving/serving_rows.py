"""Replicas: ways to serve a target, with their costs, and the plan that lists them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.messages import Note
from gpusizer.core.units import SECONDS_PER_HOUR, significant
from gpusizer.fit.platforms import setup_of
from gpusizer.fit.recommendation import firm_usd_per_hour
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.on_offer import ended_support, why_not_on_offer
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.serving.api_prices import ApiComparison, api_note, compare_with_apis
from gpusizer.serving.replicas import ServingTarget

# Missed conditions, then the least cost of an hour, then the fewest boards; unknown costs come
# last.
Place = tuple[bool, bool, bool, bool, bool, bool, bool, float, int]


@dataclass(frozen=True, slots=True)
class Doubts:
    """Reasons against a plan."""

    kept_back: bool  # such boards are not for many users (`fit/audience.toml`)
    unready: bool  # weights have to be made or found first
    unmeasured: bool  # the speed of this kind of engine was never measured on such GPUs
    risky: bool  # the load is sustained at the likely speeds, not at the slow end of their bands


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars for a million tokens at a load, on a server that is also paid while idle.

    `usd_per_million` is of all tokens, in and out: an API below this price is cheaper. The other
    prices are of prompts and of answers, by their server time.
    """

    usd_per_million: float
    usd_per_million_in: float
    usd_per_million_out: float

    @classmethod
    def from_load(
        cls,
        usd_per_hour: float | None,
        requests_per_second: float,
        lengths: tuple[int, int],
        prompts: float,
    ) -> TokenPrices | None:
        """Return the prices at a mean request rate; None if the cost of an hour is unknown.

        `lengths` are tokens in and out, `prompts` the share of time for prompts.

        >>> TokenPrices.from_load(3.6, 1.0, (800, 200), 0.25)
        TokenPrices(usd_per_million=1.0, usd_per_million_in=0.312, usd_per_million_out=3.75)
        """
        if usd_per_hour is None:
            return None
        request = usd_per_hour / (requests_per_second * SECONDS_PER_HOUR)
        prompt, answer = lengths
        return cls(
            significant(request / (prompt + answer) * 1e6),
            significant(request * prompts / prompt * 1e6),
            significant(request * (1 - prompts) / answer * 1e6),
        )


@dataclass(frozen=True, slots=True)
class Replicas:
    """One way to meet a target: replicas of `boards` boards each."""

    provenance: ClassVar[Provenance] = Provenance.FITTED

    # configuration of one replica
    config: RunConfig
    replicas: int
    # replicas at the fast and the slow end of the speeds' bands; None if the slow end is never in
    # time
    low_replicas: int
    high_replicas: int | None
    # sequences in flight on each replica, on average
    users: float
    # sequences in flight on each, on average, at the limit of memory or time to the first token
    most_users: int
    # mean: likely, at the fast and at the slow end; None if the slow end falls behind the
    # requests
    ttft_seconds: tuple[float, float, float | None]
    # seconds to the first token of half of the requests, and of the target's percentile
    ttft_median_seconds: float
    ttft_late_seconds: float
    # answer tokens of each user after the first, prompts of others read in between
    user_tokens_per_second: float
    costs: PlanCosts
    tokens: TokenPrices | None
    # sort key of plans (`plan_key`)
    place: Place

    @property
    def risky(self) -> bool:
        """Whether it sustains the load at the likely speeds, not at the slow end of their bands."""
        return self.high_replicas is None

    @property
    def gpu(self) -> Gpu:
        """The kind of its GPUs."""
        return self.config.gpu

    @property
    def boards(self) -> int:
        """Boards of one replica."""
        return self.config.boards

    @property
    def estimate(self) -> MemoryEstimate:
        """The memory of one replica."""
        return self.config.estimate

    @property
    def tight(self) -> bool:
        """Whether a replica fits at the likely amounts of memory, not at the high end."""
        return self.config.verdict is Verdict.TIGHT

    @property
    def machines_per_replica(self) -> int:
        """Machines that hold the boards of one replica."""
        return setup_of(self.gpu, self.boards).nodes

    @property
    def total_boards(self) -> int:
        """Boards of all replicas."""
        return self.replicas * self.boards


@dataclass(frozen=True, slots=True)
class ServingPlan:
    """A target, the ways to meet it, the cheapest hour first, and notes.

    `workload` is that of one sequence of the target, `api` the load by API, None if no provider's
    price is known.
    """

    target: ServingTarget
    workload: Workload
    rows: tuple[Replicas, ...]
    notes: tuple[Note, ...]
    api: ApiComparison | None = None

    def beside_apis(self, repo_id: str) -> ServingPlan:
        """Return the plan with prices of providers for the same load, and a note about them."""
        costs, replicas = (self.rows[0].costs, self.rows[0].replicas) if self.rows else (None, 1)
        compared = compare_with_apis(repo_id, self.target, costs, replicas)
        if compared is None:
            return self
        return replace(self, api=compared, notes=(*self.notes, api_note(compared)))


def joined(plans: Sequence[ServingPlan]) -> ServingPlan:
    """Return plans for the same target as one: the cheapest first, counts in notes added up."""
    rows = [row for plan in plans for row in plan.rows]
    by_code: dict[str, list[Note]] = {}
    for note in (note for plan in plans for note in plan.notes):
        by_code.setdefault(note.code, []).append(note)
    return ServingPlan(
        plans[0].target,
        plans[0].workload,
        tuple(sorted(rows, key=lambda row: row.place)),
        tuple(map(_added_up, by_code.values())),
    )


def _added_up(notes: Sequence[Note]) -> Note:
    counts = [int(note.fields["count"]) for note in notes if "count" in note.fields]
    counted = {"count": sum(counts)} if counts else {}
    return Note(notes[0].code, **{**notes[0].fields, **counted})


def plan_key(config: RunConfig, boards: int, costs: PlanCosts, doubts: Doubts) -> Place:
    """Return the sort key of a way, least for the best; `boards` are those of all replicas."""
    gpu = config.gpu
    cost, _ = firm_usd_per_hour(gpu, costs)
    return (
        doubts.kept_back,
        doubts.unready,
        config.verdict is Verdict.TIGHT,
        doubts.unmeasured,
        doubts.risky,
        ended_support(gpu) is not None,
        bool(why_not_on_offer(gpu, costs.today)),
        math.inf if cost is None else cost,
        boards,
    )
