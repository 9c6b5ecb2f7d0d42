"""Fit of a model on the reader's machine; without a machine, the model's needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpusizer.advice.alternatives import is_priced_by_rent
from gpusizer.advice.conclusion.clauses import (
    Conclusion,
    about,
    boards_name,
    facts_of,
    is_text,
    machine_name,
    memory_free,
    names,
    one_price,
    planned,
    short_name,
    speed_of_one,
    unmeasured,
)
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.run_config import start_notes
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_REMEDIES = 2


def fit(
    profile: ModelProfile,
    workload: Workload,
    places: Sequence[Ranked],
    offered: Sequence[Note] = (),
) -> Conclusion:
    """Conclude whether a model fits on a machine; of several GPUs, on which of them it runs.

    `places` are the named GPUs in the requested order, at least one; `offered` are notes on a
    sibling of the model that the best one holds.
    """
    best = best_of(places)
    said = tuple(verdict(profile, best))
    weighed = (
        *planned(profile, workload),
        *best.weighed,
        *_turns(best),
        *offered,
        *limits(workload, best),
        *remedies(best),
        *unmeasured(best),
    )
    if len(places) == 1:
        return Conclusion("fit", said, weighed, facts_of(best))
    each = (next(verdict(profile, place)) for place in places if place is not best)
    if best.fit.verdict.all_on_gpu:
        said = (_where(profile, places), Note("answer_need", **about(profile, best)), *said[1:])
    elif not best.fit.verdict.runs:
        every = names([machine_name(place.fit.machine) for place in places])
        none = Note("answer_fits_on_none", model=short_name(profile), gpus=every)
        said = (none, *said)
    return Conclusion("fit", said, (*each, *weighed), facts_of(best))


def best_of(places: Sequence[Ranked]) -> Ranked:
    """Return the place with the best verdict, among equals the fastest."""

    def key(place: Ranked) -> tuple[int, float]:
        speed = place.decode
        return place.fit.verdict.place, 0.0 if speed is None else -speed.likely

    return min(places, key=key)


def _where(profile: ModelProfile, places: Sequence[Ranked]) -> Note:
    # The number of GPUs it runs on, and their names.
    running = [machine_name(p.fit.machine) for p in places if p.fit.verdict.all_on_gpu]
    model, gpus = short_name(profile), names(running)
    if len(running) == len(places):
        return Note("answer_fits_on_each", model=model, gpus=gpus)
    return Note("answer_fits_on", model=model, count=len(running), of=len(places), gpus=gpus)


def verdict(profile: ModelProfile, place: Ranked) -> Iterator[Note]:
    """Yield whether it runs, with speed and free memory if it does, else the missing bytes."""
    what = place.fit.verdict
    fields = about(profile, place)
    if what is Verdict.NOT_SUPPORTED:
        yield Note(_not_supported(place), **fields)
        yield from place.fit.config.reasons[:1]
        return
    if what is Verdict.DOES_NOT_FIT:
        config = place.fit.config
        yield Note(f"answer_{config.verdict_code}", **fields, short_bytes=config.missing_bytes)
        return
    if lacks_ram(place):
        yield Note("answer_ram_unknown", **fields, need_bytes=place.fit.estimate.needed.likely)
        yield speed_of_one(place)
        return
    slowly = "_slowly" if is_slow(place) and what is not Verdict.FROM_DISK else ""
    if what.in_memory and not what.all_on_gpu:
        yield Note(f"answer_offload{slowly}", **fields, ram_bytes=_in_system_memory(place))
    elif takes_more(place):
        yield Note("answer_taken", **fields, gpu=place.fit.gpu.name)
    else:
        yield Note(f"answer_{what.value}{slowly}", **fields)
    yield speed_of_one(place)
    if what.all_on_gpu:
        yield memory_free(place)


def _turns(place: Ranked) -> Iterator[Note]:
    # How the components of a pipeline take turns, and whether they may run out of memory.
    config = place.fit.config
    if config.in_turns is not None:
        yield config.reasons[0]
        yield from (note for note in config.reasons[1:2] if note.code == "may_run_out")


def takes_more(place: Ranked) -> bool:
    """Whether one board was named and the place has several, as one does not hold the model."""
    return any(note.code == "boards_taken" for note in place.reasons)


def lacks_ram(place: Ranked) -> bool:
    """Whether a machine without a GPU is asked about whose system memory is not stated."""
    machine = place.fit.machine
    return not machine.gpus and machine.ram_bytes is None


def is_slow(place: Ranked) -> bool:
    """Whether each user sees fewer tokens/s than requested, or than one reads."""
    rate = place.user_rate or place.decode
    return rate is not None and rate.likely < place.enough


def _not_supported(place: Ranked) -> str:
    # Any engine, the requested one, or none for unlike cards, where pipeline stages of vLLM may
    # still run.
    if not place.fit.machine.gpus:
        return "answer_not_on_cpu"
    if not place.fit.machine.is_uniform:
        return "answer_not_divided"
    asked = place.fit.estimate.placement.workload.engine
    return "answer_engine_not_supported" if asked else "answer_not_supported"


def _in_system_memory(place: Ranked) -> int:
    return max(place.fit.config.ram_bytes, place.fit.config.missing_bytes)


def limits(workload: Workload, place: Ranked) -> Iterator[Note]:
    """Yield the capacity of the cache in the units of vLLM's log."""
    held = place.fit
    if not held.verdict.all_on_gpu or held.kv_pool_tokens is None or held.max_concurrency is None:
        return
    if not is_text(held.estimate.placement.profile):
        return
    yield Note(
        "answer_cache_each" if held.count > 1 else "answer_cache_one",
        pool_bytes=held.kv_pool_bytes,
        tokens=round(significant(held.kv_pool_tokens)),
        users=significant(held.max_concurrency),
        context=workload.context,
    )
    yield from start_notes(held.config)
    if place.longest_context:
        yield Note("answer_longest", tokens=place.longest_context)


def remedies(place: Ranked) -> Iterator[Note]:
    """Yield a heading and the least painful changes that make it fit or supported."""
    changes = [s.note for s in place.advice if s.enough and s.verdict.all_on_gpu][:_REMEDIES]
    if changes:
        several = "answer_one_change" if len(changes) == 1 else "answer_either_change"
        yield Note(_HEADINGS.get(place.fit.verdict, several))
    yield from changes


_HEADINGS: Mapping[Verdict, str] = {
    Verdict.NOT_SUPPORTED: "answer_supported_change",
    Verdict.TIGHT: "answer_sure_change",
    Verdict.DOES_NOT_FIT: "answer_fitting_change",
}


# Ranges of nominal bits that people call 4, 8 and 16 bits.
_WIDTHS = ((3.5, 4.9), (7.5, 9.0), (15.0, 16.5))


def need(
    profile: ModelProfile,
    workload: Workload,
    places: Sequence[Ranked],
    alternatives: Sequence[Alternative],
    estimates: Sequence[MemoryEstimate],
    offered: Sequence[Note] = (),
) -> Conclusion:
    """Conclude the first place of a ranking, or that it is empty."""
    # `offered` are notes on a sibling of the model.
    chosen = places[0].fit.estimate if places else None
    memory = (*memory_by_width(estimates, chosen), *planned(profile, workload))
    if not places:
        return Conclusion("need", (Note("answer_no_gpu", model=short_name(profile)),), memory)
    first = places[0]
    said = (
        Note("answer_need", **about(profile, first)),
        speed_of_one(first),
        memory_free(first),
        *one_price(first.fit.gpu, first.costs),
    )
    weighed = (
        *memory,
        *_order(first),
        *first.weighed,
        *offered,
        *missed(first),
        *unmeasured(first),
        *others(alternatives),
    )
    return Conclusion("need", said, weighed, facts_of(first))


def _order(first: Ranked) -> Iterator[Note]:
    # The order is not by tokens/s of each user.
    if first.drawn is None and not (first.decode or first.read or first.heard):
        yield Note("answer_order_without_speed")
    elif first.drawn is not None and first.rank_by == "recommended":
        yield Note("answer_order_by_picture")


def memory_by_width(
    estimates: Sequence[MemoryEstimate], chosen: MemoryEstimate | None = None
) -> Iterator[Note]:
    """Yield the memory of the usual quantization of each width, the least first.

    Of a checkpoint that is quantized no wider one is named, but `chosen`, if it is as narrow.
    """
    stored = max((e.quant.bits for e in estimates if e.native), default=math.inf)
    named = [e for e in estimates if e.quant.bits <= stored]
    is_added = chosen is not None and chosen.quant.bits <= stored < _WIDTHS[1][0]
    shown = {chosen.quant.slug: chosen} if chosen is not None and is_added else {}
    for least, most in _WIDTHS:
        of_width = [e for e in named if least <= e.quant.bits <= most]
        usual = [e for e in of_width if e.native or e.quant.recommended] or of_width
        if usual:
            best = next((e for e in usual if e.native), usual[0])
            shown[best.quant.slug] = best
    fields: dict[str, NoteValue] = {}
    by_need = sorted(shown.values(), key=lambda estimate: estimate.all_gpus.total.likely)
    for letter, estimate in zip("abc", by_need, strict=False):
        fields[f"quant_{letter}"] = estimate.quant.name
        fields[f"{letter}_bytes"] = estimate.all_gpus.total.likely
    if shown:
        yield Note(f"answer_memory_{len(shown)}", **fields)


def missed(place: Ranked) -> Iterator[Note]:
    """Yield the conditions of a recommendation that the first place misses."""
    if place.rank_by == "recommended":
        for note in place.score.missed():
            yield Note(f"answer_misses_{note.code.removeprefix('why_')}", **note.fields)


def others(alternatives: Iterable[Alternative]) -> Iterator[Note]:
    """Yield a sentence for each alternative that is not the first place itself."""
    for alternative in alternatives:
        item, kind = alternative.item, alternative.kind
        costs, estimate = item.costs, item.fit.estimate
        rents = is_priced_by_rent(kind, item.fit.gpu, costs)
        usd = costs.rent_usd_per_hour if rents else costs.buy_usd
        if alternative.is_first or usd is None:
            continue
        fields: dict[str, NoteValue] = {
            "gpus": boards_name(item.fit.gpu, item.fit.count),
            "quant": estimate.quant.name,
            "usd": significant(usd),
        }
        price = "rented" if rents else "bought"
        if item.user_rate is None:
            yield Note(f"answer_or_{kind}_{price}_without_speed", **fields)
            if item.drawn is not None:
                yield Note("answer_or_drawn", seconds=item.drawn.likely)
        else:
            tokens = significant(item.user_rate.likely)
            yield Note(f"answer_or_{kind}_{price}", **fields, tokens=tokens)
