"""Capacity limits: the longest context, the most users and the best quantization that a GPU holds.

Each is found by repeated fits, not by dividing the memory left: an engine's buffers grow with
users and tokens too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.fit import Fit, Fitter, Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.kv_cache import grows
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import MOST_CONTEXT, MOST_USERS, Workload


@dataclass(frozen=True, slots=True)
class FitPlan:
    """One way to run a model on GPUs of one kind, which can be changed and fitted again.

    Attributes:
        fitter: the model, the workload, and every quantization that may be tried.
        gpu, boards: where.
        quant, native, engine: what is run with what; `native` as the repository stores it.
    """

    fitter: Fitter
    gpu: Gpu
    boards: int
    quant: Quant
    native: bool
    engine: Engine

    @classmethod
    def of(cls, fitter: Fitter, fit: Fit) -> FitPlan:
        """The plan behind a fit. `fitter` must know the fit's quantization."""
        estimate = fit.estimate
        return cls(fitter, fit.gpu, fit.count, estimate.quant, estimate.native, estimate.engine)

    @property
    def workload(self) -> Workload:
        return self.fitter.workload

    def under(self, **fields: Any) -> FitPlan:
        """The same with other fields of the workload."""
        return replace(self, fitter=self.fitter.for_workload(replace(self.workload, **fields)))

    def fit(self) -> Fit | None:
        """How it fits, None when the model cannot be divided over these GPUs."""
        return self.fitter.fit_on(self.gpu, self.boards, self.quant, self.native, self.engine)

    def surely_fits(self) -> bool:
        """Whether it fits even at the high end of every band."""
        fit = self.fit()
        return fit is not None and fit.verdict is Verdict.FITS

    def requantized(self) -> Iterator[FitPlan]:
        """The same in each quantization no wider than the checkpoint, most faithful first.

        Recommended quantizations come first. The engine is kept where it runs the quantization.
        """
        stored = next((quant.order for quant, native in self.fitter.quants if native), 0)
        choices = [pair for pair in self.fitter.quants if pair[0].order >= stored]
        for quant, native in sorted(choices, key=lambda p: (not p[0].recommended, p[0].order)):
            engines = self.fitter.engines(quant)
            usable = [engine for engine in engines if runs_on(quant, engine, self.gpu)]
            if usable:
                engine = self.engine if self.engine in usable else usable[0]
                yield replace(self, quant=quant, native=native, engine=engine)


@dataclass(frozen=True, slots=True)
class Largest:
    """The most that surely fits when one setting changes and the others stay as requested.

    Attributes:
        users, context: what was asked for.
        context_at_users: tokens per sequence for that many users at once; None where the cache
            does not grow, 0 where not one token fits.
        users_at_context: sequences at once of that many tokens each; None where their number
            does not change the memory.
        quant, engine: the most faithful quantization for both, None where none fits.
    """

    users: int
    context: int
    context_at_users: int | None
    users_at_context: int | None
    quant: Quant | None
    engine: Engine | None

    def notes(self) -> tuple[Note, ...]:
        """The same in words."""
        notes = []
        if self.context_at_users:
            notes.append(Note("largest_context", context=self.context_at_users, users=self.users))
        if self.users_at_context:
            notes.append(Note("most_users", users=self.users_at_context, context=self.context))
        if self.quant is not None and self.engine is not None:
            notes.append(Note("best_quant", quant=self.quant.name, engine=self.engine.name))
        return tuple(notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "users": self.users,
            "context": self.context,
            "context_at_users": self.context_at_users,
            "users_at_context": self.users_at_context,
            "quant": self.quant.slug if self.quant else None,
            "engine": self.engine.slug if self.engine else None,
        }


def largest(plan: FitPlan) -> Largest:
    """Largest context, most users and most faithful quantization on the plan's GPUs."""
    best = most_faithful(plan)
    return Largest(
        users=plan.workload.concurrency,
        context=plan.workload.context,
        context_at_users=longest_context(plan),
        users_at_context=most_users(plan),
        quant=best.quant if best else None,
        engine=best.engine if best else None,
    )


def longest_context(plan: FitPlan) -> int | None:
    """Most tokens per sequence that surely fit for the requested users.

    Bounded by what the model allows; None where the cache does not grow with context.
    """
    profile = plan.fitter.profile
    if profile.architecture is None or not grows(profile.architecture):
        return None
    limit = min(profile.max_context or MOST_CONTEXT, MOST_CONTEXT)
    return largest_holding(lambda tokens: plan.under(context=tokens).surely_fits(), limit)


def most_users(plan: FitPlan) -> int | None:
    """Most simultaneous sequences of the requested context that surely fit.

    None where as many fit as can be asked for: encoders take no memory for each.
    """
    users = largest_holding(lambda n: plan.under(concurrency=n).surely_fits(), MOST_USERS)
    return None if users == MOST_USERS else users


def most_faithful(plan: FitPlan) -> FitPlan | None:
    """The most faithful quantization that surely fits, None when none does."""
    return next((other for other in plan.requantized() if other.surely_fits()), None)


def largest_holding(holds: Callable[[int], bool], limit: int) -> int:
    """The largest number up to `limit` that holds, 0 when 1 does not.

    Found by bisection: the result holds and the next number does not, also where `holds` is not
    monotone.

    >>> largest_holding(lambda n: n * n <= 50, 100)
    7
    """
    if holds(limit):
        return limit
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
