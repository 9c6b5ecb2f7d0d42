"""Whether a model fits on the GPUs or the machine that the reader has, and how well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusizer.answers.conclusion.clauses import (
    about,
    facts_of,
    is_text,
    machine_name,
    memory_free,
    names,
    planned,
    short_name,
    speed_of_one,
    unmeasured,
)
from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_REMEDIES = 2


def fit(
    profile: ModelProfile,
    workload: Workload,
    places: Sequence[Ranked],
    offered: Sequence[Note] = (),
) -> Conclusion:
    """The verdict on the machine; of several GPUs, on which of them the model runs.

    `places` are the named GPUs as asked for, at least one; `offered` is what else the best holds.
    """
    best = best_of(places)
    said = tuple(verdict(profile, best))
    weighed = (
        *planned(profile, workload),
        *best.weighed,
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
    """The place with the best verdict, among equals the fastest."""

    def key(place: Ranked) -> tuple[int, float]:
        speed = place.decode
        return place.fit.verdict.place, 0.0 if speed is None else -speed.likely

    return min(places, key=key)


def _where(profile: ModelProfile, places: Sequence[Ranked]) -> Note:
    """On how many of several GPUs it runs, and on which."""
    running = [machine_name(p.fit.machine) for p in places if p.fit.verdict.all_on_gpu]
    model, gpus = short_name(profile), names(running)
    if len(running) == len(places):
        return Note("answer_fits_on_each", model=model, gpus=gpus)
    return Note("answer_fits_on", model=model, count=len(running), of=len(places), gpus=gpus)


def verdict(profile: ModelProfile, place: Ranked) -> Iterator[Note]:
    """Whether it runs there, with the speed and the room where it does, else what is missing."""
    what = place.fit.verdict
    fields = about(profile, place)
    if what is Verdict.NOT_SUPPORTED:
        yield Note("answer_not_supported", **fields)
        yield from place.fit.way.reasons[:1]
        return
    if what is Verdict.DOES_NOT_FIT:
        yield Note("answer_does_not_fit", **fields, short_bytes=_short(place))
        return
    if what.in_memory and not what.all_on_gpu:
        yield Note("answer_offload", **fields, ram_bytes=_in_system_memory(place))
    else:
        yield Note(f"answer_{what.value}", **fields)
    yield speed_of_one(place)
    if what.all_on_gpu:
        yield memory_free(place)


def _short(place: Ranked) -> int:
    """Bytes that are missing on the fullest device."""
    return abs(place.fit.way.headroom_bytes)


def _in_system_memory(place: Ranked) -> int:
    arranged = place.fit.way.arranged
    if arranged is not None and arranged.host is not None:
        return arranged.host.total.likely
    return max(place.fit.estimate.host_bytes, _short(place))


def limits(workload: Workload, place: Ranked) -> Iterator[Note]:
    """What the cache holds beside the weights, in the units that vLLM's log prints."""
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
    if held.max_context is not None:
        yield Note("answer_longest", tokens=held.max_context)


def remedies(place: Ranked) -> Iterator[Note]:
    """The least painful changes that make it fit, after a sentence that says so; of what is not
    supported what runs instead."""
    changes = [s.note for s in place.advice if s.enough and s.verdict.all_on_gpu][:_REMEDIES]
    if place.fit.verdict is Verdict.NOT_SUPPORTED and changes:
        yield Note("answer_supported_change")
    elif changes:
        yield Note("answer_one_change" if len(changes) == 1 else "answer_either_change")
    yield from changes
