"""Rank GPUs for a model: for each the smallest count that fits, then by a named policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusizer.advice import Suggestion
from gpusizer.fit import Fit, Fitter, Verdict
from gpusizer.fit_table import Candidate, FitTable, candidates, fit_table
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.inverse import Largest
from gpusizer.memory import MemoryEstimate
from gpusizer.notes import Note
from gpusizer.offload import offload_notes
from gpusizer.speed import Rate, catalogue_classes, decode_rate, decode_rates, prefill_rate

Floats = npt.NDArray[np.float64]

_SECONDS_PER_HOUR = 3600
# Lexicographic cost of a candidate: fewer cards, then a more faithful quantization.
_COUNT_STEP = 1e6


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place in the ranking; `largest` and `advice` only where the GPU was asked for by name."""

    rank: int
    fit: Fit
    decode: Rate | None
    prefill: Rate | None
    reasons: tuple[Note, ...]
    largest: Largest | None = None
    advice: tuple[Suggestion, ...] = ()

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


@dataclass(frozen=True, slots=True)
class _Choice:
    """The candidate chosen for one GPU of the catalogue."""

    gpu_index: int
    boards: int
    estimate: MemoryEstimate
    tight: bool


Policy = Callable[[Sequence[_Choice], Catalogue, Floats], Floats]


def _total_memory(choices: Sequence[_Choice], catalogue: Catalogue, speeds: Floats) -> Floats:
    return np.array([catalogue.gpus[c.gpu_index].memory_bytes * c.boards for c in choices], float)


def _price(choices: Sequence[_Choice], catalogue: Catalogue, speeds: Floats) -> Floats:
    prices = catalogue.columns.buy_usd
    return np.array([prices[c.gpu_index] * c.boards for c in choices], float)


def _slowness(choices: Sequence[_Choice], catalogue: Catalogue, speeds: Floats) -> Floats:
    return -speeds


POLICIES: dict[str, Policy] = {
    "smallest": _total_memory,
    "cheapest": _price,
    "fastest": _slowness,
}
"""Name -> cost to minimise; unknown costs (NaN) go last."""


def rank_gpus(fitter: Fitter, catalogue: Catalogue, rank_by: str, top: int) -> tuple[Ranked, ...]:
    """GPUs on which the model runs, best first; `top` of them, or all when it is 0."""
    table = fit_table(tuple(candidates(fitter, catalogue)), catalogue)
    choices = _choose(table, catalogue)
    if not choices:
        return ()
    speeds = _speeds(fitter, catalogue, choices)
    cost = POLICIES[rank_by](choices, catalogue, speeds)
    memory = _total_memory(choices, catalogue, speeds)
    # What surely fits comes first; equal costs go by least memory, then fastest.
    # lexsort's last key is the first criterion.
    order = np.lexsort(
        (np.nan_to_num(-speeds, nan=0.0), memory, cost, np.array([c.tight for c in choices], float))
    )
    wanted = order[: top or None]
    return tuple(
        describe(
            fitter,
            catalogue.gpus[choices[i].gpu_index],
            choices[i].boards,
            choices[i].estimate,
            rank=place,
        )
        for place, i in enumerate(wanted, start=1)
    )


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


def _choose(table: FitTable, catalogue: Catalogue) -> list[_Choice]:
    """For each GPU on sale the cheapest candidate that fits, or else the cheapest tight one."""
    cost = _candidate_cost(table.candidates)[:, None]
    safe = np.where(table.fits, cost, np.inf)
    tight = np.where(table.tight, cost, np.inf)
    surely = np.isfinite(safe.min(axis=0))
    chosen = np.where(surely, safe.argmin(axis=0), tight.argmin(axis=0))
    possible = surely | np.isfinite(tight.min(axis=0))
    return [
        _Choice(
            int(gpu),
            int(table.boards[chosen[gpu], gpu]),
            table.candidates[chosen[gpu]].estimate,
            tight=not surely[gpu],
        )
        for gpu in np.flatnonzero(possible)
        if catalogue.gpus[gpu].status != "announced"
    ]


def _candidate_cost(of: Sequence[Candidate]) -> Floats:
    return np.array(
        [c.estimate.split.gpus * _COUNT_STEP + c.estimate.quant.order for c in of], float
    )


def _speeds(fitter: Fitter, catalogue: Catalogue, choices: Sequence[_Choice]) -> Floats:
    """Likely tokens/s of every choice, computed once per distinct estimate."""
    columns = catalogue.columns
    bandwidth = columns.bandwidth_bytes_per_second / columns.devices_per_board
    classes = catalogue_classes(catalogue)
    result = np.full(len(choices), np.nan)
    by_estimate: dict[int, list[int]] = {}
    for place, choice in enumerate(choices):
        by_estimate.setdefault(id(choice.estimate), []).append(place)
    for places in by_estimate.values():
        gpus = [choices[place].gpu_index for place in places]
        result[places] = decode_rates(
            fitter.profile,
            choices[places[0]].estimate,
            fitter.workload,
            bandwidth[gpus],
            tuple(classes[gpu] for gpu in gpus),
        )
    return result


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
