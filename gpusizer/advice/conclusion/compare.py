"""Choice among several GPUs: the fastest, the one with the longest context, the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import (
    Conclusion,
    boards_name,
    machine_name,
    names,
    short_name,
)
from gpusizer.advice.ranking import Ranked
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import GB, significant
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.model.profile import ModelProfile

# Speeds that differ by less than a tenth count as equal: bands are wider than that.
_CLEARLY = 1.1


@dataclass(frozen=True, slots=True)
class Boards:
    """Boards of a comparison without a model."""

    gpu: Gpu
    count: int
    costs: PlanCosts

    @property
    def name(self) -> str:
        return boards_name(self.gpu, self.count)


def compared_models(
    profile: ModelProfile, users: int, places: Sequence[Ranked], lost: Sequence[Note] = ()
) -> Conclusion:
    """Conclude how one model runs for `users` on each of several GPUs.

    `lost` are notes on the quantization that they share.
    """
    running = [place for place in places if place.fit.verdict.all_on_gpu]
    running = running or [place for place in places if place.fit.verdict.runs]
    model = short_name(profile)
    if not running:
        none = names([machine_name(place.fit.machine) for place in places])
        return Conclusion("compare", (Note("answer_fits_on_none", model=model, gpus=none),))
    said = (
        _where(model, places, running),
        *_fastest(running, users),
        *_longest(running),
    )
    weighed = (
        *lost,
        *_elsewhere(model, places, running),
        *_in_turns(running),
        *_cheapest([(_name(p), p.costs) for p in running]),
    )
    return Conclusion("compare", said, weighed, _facts(running, users))


def _where(model: str, places: Sequence[Ranked], running: Sequence[Ranked]) -> Note:
    # The number of GPUs it runs on, and its quantizations: one if they share it.
    quants = names(list(dict.fromkeys(place.fit.estimate.quant.name for place in running)))
    if not running[0].fit.verdict.all_on_gpu:
        gpus = names(list(map(_name, running)))
        return Note("answer_compared_offload", model=model, quants=quants, gpus=gpus)
    if len(running) == len(places):
        return Note("answer_compared_each", model=model, quants=quants)
    return Note("answer_compared", model=model, quants=quants, count=len(running), of=len(places))


def _elsewhere(model: str, places: Sequence[Ranked], running: Sequence[Ranked]) -> Iterator[Note]:
    # GPUs with a part in system memory or on the disk, and GPUs on which it does not run.
    others = [place for place in places if place not in running]
    in_part = [_name(place) for place in others if place.fit.verdict.runs]
    nowhere = [_name(place) for place in others if not place.fit.verdict.runs]
    if in_part:
        yield Note("answer_compared_in_part", model=model, gpus=names(in_part))
    if nowhere:
        yield Note("answer_compared_without", model=model, gpus=names(nowhere))


def _name(place: Ranked) -> str:
    return machine_name(place.fit.machine)


def _tokens_per_second(place: Ranked, users: int) -> float | None:
    # Where users take turns, a share of all that is written: those who wait see none.
    if place.workload.takes_turns:
        total = place.tokens_per_second
        return None if total is None else total / users
    rate = place.decode if users == 1 else place.user_rate
    return None if rate is None else rate.likely


def _in_turns(running: Sequence[Ranked]) -> Iterator[Note]:
    for place in running:
        if place.workload.takes_turns:
            yield Note("answer_in_turns", gpus=_name(place), at_once=place.workload.sequences)


def _fastest(running: Sequence[Ranked], users: int) -> Iterator[Note]:
    # The fastest for each user, and the speed of the slowest.
    rates = [(_tokens_per_second(place, users), place) for place in running]
    paced = [(rate, place) for rate, place in rates if rate is not None]
    if not paced:
        yield _quickest(running)
        return
    paced.sort(key=lambda pair: -pair[0])
    best, slowest = paced[0], paced[-1]
    level = [_name(place) for speed, place in paced if speed * _CLEARLY >= best[0]]
    fields: dict[str, NoteValue] = {"tokens": significant(best[0]), "users": users}
    alone, equal, fastest = _OF_ONE if users == 1 else _OF_EACH
    if len(paced) == 1:
        yield Note(alone, gpus=_name(best[1]), **fields)
    elif len(level) == len(paced):
        yield Note(equal, **fields)
    else:
        slow: dict[str, NoteValue] = {"slowest": _name(slowest[1]), "slow": significant(slowest[0])}
        yield Note(fastest, gpus=names(level), **fields, **slow)


_OF_ONE = "answer_speed_alone", "answer_equally_fast", "answer_fastest"
_OF_EACH = "answer_speed_alone_each", "answer_equally_fast_each", "answer_fastest_each"


def _quickest(running: Sequence[Ranked]) -> Note:
    # The shortest time of a picture or clip; otherwise the speed is unknown.
    drawn = sorted((place.drawn.likely, _name(place)) for place in running if place.drawn)
    if len(drawn) < 2:
        return Note("answer_speed_unknown")
    (seconds, gpus), (slow, slowest) = drawn[0], drawn[-1]
    times = {"seconds": significant(seconds), "slow": significant(slow)}
    return Note("answer_quickest", gpus=gpus, slowest=slowest, **times)


def _longest(running: Sequence[Ranked]) -> Iterator[Note]:
    held = [(tokens, _name(p)) for p in running if (tokens := p.longest_context)]
    if len(held) < 2:
        return
    held.sort(reverse=True)
    (most, name), (next_most, _) = held[:2]
    if most > next_most:
        yield Note("answer_longest_alone", gpus=name, tokens=most, others=next_most)
    else:
        yield Note("answer_longest_of_several", tokens=most)


def _cheapest(offers: Sequence[tuple[str, PlanCosts]]) -> Iterator[Note]:
    # To buy, and to rent.
    for code, usd_of in _PRICES.items():
        priced = [(usd, name) for name, costs in offers if (usd := usd_of(costs)) is not None]
        if len(priced) > 1:
            usd, name = min(priced)
            yield Note(code, gpus=name, usd=significant(usd))


_PRICES: Mapping[str, Callable[[PlanCosts], float | None]] = {
    "answer_cheapest_bought": lambda costs: costs.buy_usd,
    "answer_cheapest_rented": lambda costs: costs.rent_usd_per_hour,
}


def _facts(running: Sequence[Ranked], users: int) -> Mapping[str, NoteValue | None]:
    # None without a known figure.
    quants = {place.fit.estimate.quant.slug for place in running}

    def first(figure: Callable[[Ranked], float | None]) -> str | None:
        known = [(value, place.fit.gpu.slug) for place in running if (value := figure(place))]
        return max(known)[1] if known else None

    return {
        "quant": quants.pop() if len(quants) == 1 else None,
        "fastest": first(lambda place: _tokens_per_second(place, users)),
        "longest_context": first(lambda place: place.longest_context),
        "cheapest_to_buy": first(lambda place: -(place.costs.buy_usd or 0.0)),
    }


def compared_boards(boards: Sequence[Boards]) -> Conclusion:
    """Conclude a comparison of GPUs without a model: memory, bandwidth and price."""
    memory = max(boards, key=lambda b: b.gpu.memory_bytes * b.count)
    said = [
        Note(
            "answer_most_memory",
            gpus=memory.name,
            memory_bytes=memory.gpu.memory_bytes * memory.count,
        )
    ]
    rated = [(rate, b) for b in boards if (rate := b.gpu.bandwidth_bytes_per_second) is not None]
    if rated:
        rate, fastest = max(rated, key=lambda pair: pair[0])
        name = boards_name(fastest.gpu, 1)
        said.append(Note("answer_most_bandwidth", gpus=name, gb=significant(rate / GB)))
    weighed = tuple(_cheapest([(b.name, b.costs) for b in boards]))
    return Conclusion("compare", tuple(said), weighed, {"most_memory": memory.gpu.slug})
