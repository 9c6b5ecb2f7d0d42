"""Rank GPUs for a model: for each the smallest count that fits, then by a named policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusizer.advice import Suggestion
from gpusizer.choosing import Choice, choose
from gpusizer.fit import Fit, Fitter, Verdict
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.inverse import Largest
from gpusizer.memory import MemoryEstimate
from gpusizer.notes import Note
from gpusizer.offload import offload_notes
from gpusizer.plans.plan import RunPlan
from gpusizer.speed import Rate, bytes_per_step, decode_rate, prefill_rate, tokens_per_second

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place in the ranking; `largest`, `advice` and `plans` only for GPUs asked for by name."""

    rank: int
    fit: Fit
    decode: Rate | None
    prefill: Rate | None
    reasons: tuple[Note, ...]
    largest: Largest | None = None
    advice: tuple[Suggestion, ...] = ()
    plans: tuple[RunPlan, ...] = ()

    @property
    def buy_usd(self) -> float | None:
        """Price of all boards, None when the price of one is not known."""
        price = self.fit.gpu.buy_usd
        return None if price is None else price * self.fit.count

    @property
    def rent_usd_per_hour(self) -> float | None:
        """Rent of all boards for an hour, None when unknown."""
        price = self.fit.gpu.rent_usd_per_hour
        return None if price is None else price * self.fit.count

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Rent of the time a million tokens take at the likely speed of one user."""
        if self.rent_usd_per_hour is None or self.decode is None or not self.decode.likely:
            return None
        hours = 1e6 / self.decode.likely / _SECONDS_PER_HOUR
        return round(self.rent_usd_per_hour * hours, 2)

    @property
    def power_watts(self) -> float | None:
        """Board power of all boards, None when unknown."""
        power = self.fit.gpu.power_watts
        return None if power is None else power * self.fit.count


Speed = float | None
"""Likely tokens/s of one user, None when unknown."""

Policy = Callable[[Choice, Speed], float | None]


def _total_memory(choice: Choice, speed: Speed) -> float:
    return choice.gpu.memory_bytes * choice.boards


def _price(choice: Choice, speed: Speed) -> float | None:
    price = choice.gpu.buy_usd
    return None if price is None else price * choice.boards


def _slowness(choice: Choice, speed: Speed) -> float | None:
    return None if speed is None else -speed


POLICIES: dict[str, Policy] = {
    "smallest": _total_memory,
    "cheapest": _price,
    "fastest": _slowness,
}
"""Name -> cost to minimise; unknown costs go last."""


def rank_gpus(fitter: Fitter, catalogue: Catalogue, rank_by: str, top: int) -> tuple[Ranked, ...]:
    """GPUs on which the model runs, best first; `top` of them, or all when it is 0.

    What surely fits comes first; equal costs go by least memory, then fastest.
    """
    choices = choose(fitter, catalogue)
    policy = POLICIES[rank_by]
    places = []
    for choice, speed in zip(choices, _speeds(fitter, choices), strict=True):
        cost = _or_last(policy(choice, speed))
        memory = _total_memory(choice, speed)
        places.append((choice.tight, cost, memory, 0.0 if speed is None else -speed))
    order = sorted(range(len(choices)), key=places.__getitem__)
    wanted = [choices[i] for i in order[: top or None]]
    return tuple(
        describe(fitter, one.gpu, one.boards, one.estimate, rank=place)
        for place, one in enumerate(wanted, start=1)
    )


def _or_last(cost: float | None) -> float:
    return math.inf if cost is None else cost


def describe(fitter: Fitter, gpu: Gpu, boards: int, estimate: MemoryEstimate, rank: int) -> Ranked:
    """A ranking entry for one GPU, count and estimate."""
    fit = fitter.fit(gpu, boards, estimate)
    runs = fit.verdict in (Verdict.FITS, Verdict.TIGHT)  # the model assumes all layers on the GPU
    return Ranked(
        rank=rank,
        fit=fit,
        decode=decode_rate(fitter.profile, estimate, fitter.workload, gpu) if runs else None,
        prefill=prefill_rate(fitter.profile, estimate, gpu) if runs else None,
        reasons=_reasons(fitter, fit),
    )


def _speeds(fitter: Fitter, choices: Sequence[Choice]) -> list[Speed]:
    """The speed of every choice; what a step reads is computed once per estimate."""
    profile = fitter.profile
    step_bytes: dict[int, float] = {}
    speeds = []
    for choice in choices:
        estimate = choice.estimate
        if id(estimate) not in step_bytes:
            step_bytes[id(estimate)] = bytes_per_step(profile, estimate, fitter.workload)
        read = step_bytes[id(estimate)]
        speeds.append(tokens_per_second(profile, estimate, read, choice.gpu))
    return speeds


def _reasons(fitter: Fitter, fit: Fit) -> tuple[Note, ...]:
    estimate = fit.estimate
    notes = [
        Note(
            f"verdict_{fit.verdict.value}",
            quant=estimate.quant.name,
            engine=estimate.engine.name,
            headroom_bytes=abs(fit.headroom_bytes),
            count=fit.count,
        )
    ]
    if fit.verdict is Verdict.OFFLOAD:
        notes += offload_notes(fitter, fit.gpu, estimate)
    if fit.count > 1 and fit.gpu.interconnect_bytes_per_second is None:
        notes.append(Note("no_fast_interconnect"))
    if fit.gpu.memory_basis == "nominal":
        notes.append(Note("usable_memory_not_observed"))
    if fit.verdict is Verdict.TIGHT:
        notes.append(Note("may_run_out"))
    return tuple(notes)
