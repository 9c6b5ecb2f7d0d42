"""The large figures of an answer, and bars of what a machine's memory holds of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpusizer.advice.alternatives import is_priced_by_rent
from gpusizer.advice.conclusion.fit import lacks_ram
from gpusizer.advice.ranking import Ranked
from gpusizer.core.units import GIB
from gpusizer.fit.run_config import RunConfig, usable_memory
from gpusizer.gpus.costs import PlanCosts
from gpusizer.serving.replicas import ServingTarget
from gpusizer.serving.serving_rows import Replicas
from gpusizer.speed import Rate
from gpusizer.ui.presenters.conclusion import unbroken
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words

HOURS_OF_A_MONTH = 730
"""Hours of a twelfth of 365 days, as clouds bill."""
_NO_DECIMALS = 99.95  # GiB from which `words.amount` has none


@dataclass(frozen=True, slots=True)
class Figure:
    """A large figure with its name and small print."""

    name: str
    value: str
    detail: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Part of a model that one kind of memory holds.

    Attributes:
        share: of the memory, between 0 and 100; of a GPU's where the size of RAM is not known.
        is_over: the model takes more than there is.
    """

    name: str
    value: str
    share: float
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes of a model on all GPUs together, and in system memory."""

    gpus_bytes: int
    ram_bytes: int


def figures_to_get(place: Ranked, words: Words) -> tuple[Figure, ...]:
    """Return speed, memory and price of boards that one would get."""
    several = place.workload.concurrency > 1
    price = _month(place.costs, words) if several else None
    return (_speed(place, words), _memory(place, words), price or _price(place, words))


def figures_of_own(place: Ranked, words: Words) -> tuple[Figure, ...]:
    """Return speed, memory and longest context on the visitor's machine; speed and context only
    where the model runs."""
    if not place.fit.verdict.runs:
        return (_memory(place, words),)
    figures = [_speed(place, words), _memory(place, words)]
    if place.longest_context and place.fit.estimate.placement.profile.architecture:
        tokens = words.whole(place.longest_context)
        figures.append(Figure(words("figure.context"), tokens, words("figure.tokens")))
    return tuple(figures)


def figures_of_plan(target: ServingTarget, row: Replicas, words: Words) -> tuple[Figure, ...]:
    """Return the first token and the costs of the servers of a plan."""
    likely, _, _ = row.ttft_seconds
    figures = [
        Figure(
            words("figure.first_token"),
            words("seconds", time=words.speed(likely, 2)),
            waits_text(target, row, words),
        )
    ]
    figures += filter(None, (_month(row.costs, words), _bought(row.costs, words)))
    return tuple(figures)


def waits_text(target: ServingTarget, row: Replicas, words: Words) -> str:
    """Write the median and the late end of the wait for the first token."""
    return words(
        "figure.late",
        median=words.speed(row.ttft_median_seconds, 2),
        late=words.speed(row.ttft_late_seconds, 2),
        percentile=words.number(target.ttft_percentile, "g"),
    )


def bars_of(place: Ranked, words: Words) -> tuple[Bar, ...]:
    """Return a bar for the GPU, or for each of unlike ones, and one for system memory that holds a
    part of the model; none where there is no GPU."""
    return tuple(_bars(place, words)) if place.fit.machine.gpus else ()


def held(config: RunConfig) -> HeldBytes:
    """Return the bytes that all GPUs hold together, and those in system memory."""
    if config.in_turns is not None:  # a pipeline's components start there and return to it
        ram = config.in_turns.sizes.total
        return HeldBytes(config.in_turns.needed.likely * len(config.machine.gpus), ram)
    if config.arranged is None:
        every = config.fullest_gpu_bytes * len(config.machine.gpus)
        return HeldBytes(every, config.estimate.kv_offload_bytes)
    host = config.arranged.host.total.likely if config.in_part else 0
    return HeldBytes(sum(share.total.likely for share in config.arranged.devices), host)


def _bars(place: Ranked, words: Words) -> Iterator[Bar]:
    machine, config = place.fit.machine, place.fit.config
    parts = held(config)
    if machine.is_uniform or config.arranged is None:
        used = parts.gpus_bytes // len(machine.gpus)
        yield _bar(words("bar.gpu"), used, machine.gpu.device_free_bytes, words)
    else:
        for gpu, share in zip(machine.gpus, config.arranged.devices, strict=False):
            yield _bar(gpu.name, share.total.likely, gpu.device_free_bytes, words)
    if parts.ram_bytes and machine.ram_bytes:
        yield _bar(words("bar.ram"), parts.ram_bytes, machine.ram_bytes, words)
    elif parts.ram_bytes:  # on the scale of the GPU
        width = min(100.0, 100 * parts.ram_bytes / machine.gpu.device_free_bytes)
        yield Bar(words("bar.ram"), words.amount(parts.ram_bytes), width)


def _bar(name: str, used_bytes: int, memory_bytes: int, words: Words) -> Bar:
    share = 100 * used_bytes / memory_bytes
    return Bar(name, used_text(used_bytes, memory_bytes, words), min(100.0, share), share > 100)


def used_text(used_bytes: int, memory_bytes: int, words: Words) -> str:
    """Write a part of a memory: "9.2 of 12.0 GiB"."""
    used = used_bytes / GIB
    number = words.number(used, ",.0f" if used >= _NO_DECIMALS else ".1f")
    return words("figure.used", used=number, memory=words.amount(memory_bytes))


def _speed(place: Ranked, words: Words) -> Figure:
    work = place.fit.estimate.placement.workload
    if place.drawn is not None:
        return _drawn(place.drawn, place, words)
    if place.read is not None:
        documents = words.speed(place.read.likely / work.context)
        detail = words("figure.documents", documents=documents)
        return Figure(words("figure.speed"), words.rate(place.read.likely), detail)
    if place.heard is not None:
        value = words("figure.sound", speed=words.speed(place.heard.likely))
        return Figure(words("figure.speed"), value, _band(place.heard, words))
    rate = place.user_rate or place.decode
    if rate is None:
        return Figure(words("figure.speed"), DASH, words("figure.unknown"))
    if work.concurrency == 1:
        return Figure(words("figure.speed"), words.rate(rate.likely), _band(rate, words))
    return Figure(words("figure.speed_each"), words.rate(rate.likely), _in_all(place, words))


def _drawn(drawn: Rate, place: Ranked, words: Words) -> Figure:
    work = place.fit.estimate.placement.workload
    frames = work.frames or 1
    detail = words(
        "figure.frames" if frames > 1 else "figure.size",
        frames=words.whole(frames),
        width=words.whole(work.width or 0),
        height=words.whole(work.height or 0),
        low=words.speed(drawn.low),
        high=words.speed(drawn.high),
    )
    name = words("figure.clip" if frames > 1 else "figure.picture")
    return Figure(name, words("seconds", time=words.speed(drawn.likely)), detail)


def _in_all(place: Ranked, words: Words) -> str:
    """Write the tokens/s of all users."""
    total = place.tokens_per_second
    return "" if total is None else words("figure.in_all", total=words.speed(total))


def _band(rate: Rate, words: Words) -> str:
    return words("figure.band", low=words.speed(rate.low), high=words.speed(rate.high))


def _memory(place: Ranked, words: Words) -> Figure:
    machine, config = place.fit.machine, place.fit.config
    if lacks_ram(place):
        need = words.amount(config.estimate.needed.likely)
        return Figure(words("figure.memory_needed"), need, words("figure.ram_unknown"))
    parts = held(config)
    used: int = parts.gpus_bytes
    memory = sum(gpu.device_free_bytes for gpu in machine.gpus)
    each = machine.is_uniform and len(machine.gpus) > 1
    if each:
        memory, used = memory // len(machine.gpus), used // len(machine.gpus)
    if not machine.gpus:
        used, memory = parts.ram_bytes or config.estimate.needed.likely, machine.free_ram_bytes or 0
    return Figure(
        words("figure.memory_each" if each else "figure.memory"),
        used_text(used, memory, words),
        _spare(place, words),
    )


def _spare(place: Ranked, words: Words) -> str:
    """Write what stays free on the fullest device or is missing, "" where RAM holds a part."""
    headroom = place.fit.headroom_bytes
    if headroom is None or place.fit.config.in_part:
        return ""
    config, amount = place.fit.config, words.amount(abs(headroom))
    if headroom < 0:
        return words("cards.short", amount=amount)
    # An engine that takes a share at once leaves the rest of the device to no model.
    if config.machine.gpus and config.estimate.utilization < 1:
        share = usable_memory(config.gpu, config.estimate).utilization
        percent = words.number(100 * share, ".3g")
        return words("figure.spare_of_share", amount=amount, percent=percent)
    return words("cards.spare", amount=amount)


def _price(place: Ranked, words: Words) -> Figure:
    costs = place.costs
    rented = is_priced_by_rent("", place.fit.gpu, costs)
    figure = None if rented else _bought(costs, words)
    return figure or _hour(costs, words) or _unpriced(words)


def _unpriced(words: Words) -> Figure:
    return Figure(words("figure.price"), DASH, words("figure.unknown"))


def _bought(costs: PlanCosts, words: Words) -> Figure | None:
    if costs.buy_usd is None or costs.buy is None:
        return None
    detail = words(f"basis.{costs.buy.condition or costs.buy.basis}", date=costs.buy_as_of or "")
    return Figure(words("figure.price"), words.usd(costs.buy_usd), unbroken(detail))


def _hour(costs: PlanCosts, words: Words) -> Figure | None:
    usd = costs.rent_usd_per_hour
    if usd is None:
        return None
    value = words("per_hour", price=words.usd(usd))
    return Figure(words("figure.price"), value, _rented(costs, words))


def _rented(costs: PlanCosts, words: Words) -> str:
    date = costs.rent.as_of if costs.rent else None
    return words("figure.rented", date=unbroken(date)) if date else words("figure.rented_undated")


def _month(costs: PlanCosts, words: Words) -> Figure | None:
    usd = costs.rent_usd_per_hour
    if usd is None:
        return None
    hours = words("figure.month_hours", hours=words.whole(HOURS_OF_A_MONTH))
    detail = f"{words('per_hour', price=words.usd(usd))} · {hours}"
    return Figure(words("figure.month"), words.usd(usd * HOURS_OF_A_MONTH), detail)
