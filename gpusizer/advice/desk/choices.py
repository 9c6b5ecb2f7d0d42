"""Choices: the ways that a model may take on a machine beside others, with what each takes.

Devices hold all of it, one or several of a kind, or unlike ones under engines that deal layers out;
where system memory is stated, a part of it may lie there, with a quarter to all of what is free on
the devices, and small models in system memory alone. What each takes is the high end of its
estimate; of an engine that budgets with a share of the card, that share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import ceil, prod

from gpusizer.advice.desk.rooms import HUNDREDTHS, PlaceOption, PlaceRequest, Room, Taking
from gpusizer.fit.machine import CPU, Machine
from gpusizer.fit.preference import choose
from gpusizer.fit.preference_key import PreferenceKey, preference_key, unreadiness
from gpusizer.fit.run_config import RunConfig, memory_of
from gpusizer.fit.run_configs import enumerate_configs
from gpusizer.fit.study import QuantOption, Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.gpus.mig import device_of
from gpusizer.memory.estimate import MemoryEstimate

MOST_DEVICES = 8
_MOST_SETS = 40  # sets of unlike devices that are tried
_MOST_NEIGHBOURS = 4
_FEW_SETS = 3
_LEVELS = (1.0, 0.75, 0.5, 0.25)  # of free memory, for models that have a part in system memory


@dataclass(frozen=True, slots=True)
class Choice:
    """A way on devices of these kinds alone, and what it takes there."""

    config: RunConfig
    option: PlaceOption


@dataclass(frozen=True, slots=True)
class Choices:
    """Options of one model, in the order of its own preference."""

    study: Study
    all: tuple[Choice, ...]

    def as_request(self, *, must_stay: bool) -> PlaceRequest:
        """Return the model as one to place."""
        return PlaceRequest(tuple(choice.option for choice in self.all), must_stay)

    @property
    def least_bytes(self) -> int:
        """Bytes on devices and in system memory in the smallest option, 0 without one."""
        sizes = (choice.option.total_bytes + choice.option.ram_bytes for choice in self.all)
        return min(sizes, default=0)

    def config_of(self, option: PlaceOption) -> RunConfig:
        """Return the run config of one of its options."""
        return next(choice.config for choice in self.all if choice.option is option)


def rooms_of(machine: Machine) -> tuple[Room, ...]:
    """Return the devices of a machine as rooms."""
    kinds = list(dict.fromkeys(machine.gpus))
    return tuple(Room(kinds.index(gpu), gpu.device_free_bytes) for gpu in machine.gpus)


def as_devices(machine: Machine) -> Machine:
    """Return a machine with each device of its boards as a card, which a model may take alone."""
    return replace(machine, gpus=tuple(map(device_of, machine.gpus)))


def choices_on(study: Study, machine: Machine) -> Choices:
    """Return the ways of a model on a machine that surely fit, without those that take as much as
    one that it prefers."""
    machine = as_devices(machine)
    found = [
        (_preference(study, config), config)
        for gpus in _sets(machine)
        for config in _whole(study, _part_of(machine, gpus))
    ]
    found += [(_preference(study, config), config) for config in _in_part(study, machine)]
    found.sort(key=lambda pair: pair[0])
    least_loss, steps = (f(study, found[0][1]) if found else 0 for f in (_loss, unreadiness))
    taken: list[Choice] = []
    # Options that the model prefers equally have one place.
    places: dict[tuple[object, ...], int] = {}
    for key, config in found:
        more = max(0, _loss(study, config) - least_loss)
        option = PlaceOption(
            groups=_groups(pools := _pools(machine, config.machine.gpus)),
            pools=pools,
            takings=_takings(config),
            alike=_alike(machine, config),
            ram_bytes=_ram_bytes(config),
            most_share=_most_share(config.estimate),
            in_part=_is_in_part(config),
            unready=max(0, unreadiness(study, config) - steps),
            spans=len({gpu.slug for gpu in config.machine.gpus}) > 1,
            loss=more,
            place=places.get(key, len(places)),
        )
        if not any(_is_no_better(option, other.option) for other in taken):
            taken.append(Choice(config, option))
            places.setdefault(key, len(places))
    return Choices(study, tuple(taken))


def share_of(estimate: MemoryEstimate, gpu: Gpu, free_bytes: int | None = None) -> float | None:
    """Return the least share, in whole hundredths, that surely holds a model on a card.

    `free_bytes` are free on the card, None for all. Return None under an engine that takes what it
    needs.
    """
    if estimate.utilization >= 1:
        return None
    memory = memory_of(estimate.engine, gpu)
    free = memory if free_bytes is None else min(free_bytes, memory)
    if estimate.free_rule.kind == "share_of_free":
        return estimate.shared.least(free)
    least = estimate.shared.least(memory)
    if least is None or estimate.free_rule.kind == "checked_at_start":
        return least
    # Before 0.9.1 vLLM counts what others hold as a part of its own share.
    return ceil(HUNDREDTHS * (least + (memory - free) / memory)) / HUNDREDTHS


def _preference(study: Study, config: RunConfig) -> tuple[bool, bool, PreferenceKey, int, int]:
    # As on one machine; fewer stages and devices come first only where nothing else decides. With
    # a part in system memory, more on devices is faster, all of it there the slowest.
    key, gpus = preference_key(study, config)._replace(boards=0), config.machine.gpus
    if _is_in_part(config):
        return True, not gpus, key, -sum(taking.held_bytes for taking in _takings(config)), 0
    return False, False, key, config.estimate.placement.split.pipeline, len(gpus)


def _loss(study: Study, config: RunConfig) -> int:
    return study.loss_rank(config.estimate)


def _is_no_better(option: PlaceOption, other: PlaceOption) -> bool:
    # The other one, which comes first, takes no more of the same devices.
    if option.groups != other.groups or other.cost > option.cost:
        return False
    pairs = zip(other.takings, option.takings, strict=True)
    smaller = all(o.held_bytes <= t.held_bytes and o.share <= t.share for o, t in pairs)
    return smaller and other.ram_bytes <= option.ram_bytes


def _sets(machine: Machine) -> Iterable[tuple[Gpu, ...]]:
    # Every number of devices of each combination of kinds; of many kinds those of neighbours.
    counts, devices = Counter(machine.gpus), range(len(machine.gpus) + 1)
    if prod(count + 1 for count in counts.values()) > _MOST_SETS:
        runs = combinations(devices, 2)
        few = [(a, b) for a, b in runs if b - a <= _MOST_NEIGHBOURS or b - a == devices[-1]]
        return dict.fromkeys(machine.gpus[first:end] for first, end in few)
    numbers = product(*(range(count + 1) for count in counts.values()))
    return [
        tuple(g for g, n in zip(counts, several, strict=True) for _ in range(n))
        for several in numbers
        if any(several)
    ]


def _pools(machine: Machine, gpus: Sequence[Gpu]) -> tuple[tuple[tuple[int, ...], int], ...]:
    return tuple((tuple(_places(machine, gpu)), n) for gpu, n in Counter(gpus).items())


def _groups(pools: Sequence[tuple[Sequence[int], int]]) -> tuple[tuple[int, ...], ...]:
    own = [[*combinations(devices, count)] for devices, count in pools]
    return tuple(tuple(d for part in parts for d in part) for parts in product(*own))


def _alike(machine: Machine, config: RunConfig) -> tuple[int, ...]:
    takings = _takings(config)
    is_one_kind = len(set(config.machine.gpus)) == 1 and len(set(takings)) == 1
    return tuple(_places(machine, config.gpu)) if is_one_kind else ()


def _places(machine: Machine, gpu: Gpu) -> list[int]:
    # A device that offers only a part is still of its kind.
    found = [n for n, other in enumerate(machine.gpus) if other == gpu]
    return found or [
        n
        for n, other in enumerate(machine.gpus)
        if other == replace(gpu, free_bytes=other.free_bytes)
    ]


def _part_of(machine: Machine, gpus: Sequence[Gpu]) -> Machine:
    uniform = all(gpu == gpus[0] for gpu in gpus)
    backend = gpus[0].software if uniform else machine.backend
    return replace(machine, gpus=tuple(gpus), is_uniform=uniform, backend=backend, notes=())


def _whole(study: Study, part: Machine) -> Iterator[RunConfig]:
    # Ways that are not usual are tried where no usual one is enough, as for one model alone.
    def is_passed_over(option: QuantOption) -> bool:
        return not option.engine.abilities.serves and study.workload.engine is None

    for usual in (True, False):
        holds = False
        found = enumerate_configs(study, part, usual=usual, whole=True, is_dominated=is_passed_over)
        for config in found:
            if config.verdict is Verdict.FITS:
                holds = holds or preference_key(study, config).holds
                yield config
        if holds:
            return


def _in_part(study: Study, machine: Machine) -> Iterator[RunConfig]:
    # The best way at each level, on each kind of device, on all of them, and without any.
    if machine.ram_bytes is None or machine.shares_memory:
        return
    sets: list[tuple[Gpu, ...]] = [(gpu,) for gpu in dict.fromkeys(machine.gpus)]
    if len(machine.gpus) > 1:
        sets.append(machine.gpus)
    levels = _LEVELS if len(sets) <= _FEW_SETS else _LEVELS[::2]
    offers = [_offered(gpus, level) for gpus in sets for level in levels]
    parts = [_part_of(machine, gpus) for gpus in offers]
    alone = replace(machine, gpus=(), is_uniform=False, backend=CPU, notes=())
    for part in (*parts, alone):
        config = choose(study, [part])
        if config is not None and _is_in_part(config) and _is_sure(config):
            yield config


def _offered(gpus: Sequence[Gpu], level: float) -> tuple[Gpu, ...]:
    if level == 1:
        return tuple(gpus)
    return tuple(replace(gpu, free_bytes=int(gpu.device_free_bytes * level)) for gpu in gpus)


def _is_in_part(config: RunConfig) -> bool:
    return config.verdict is Verdict.OFFLOAD or (
        config.verdict is Verdict.FITS and not config.machine.gpus
    )


def _is_sure(config: RunConfig) -> bool:
    # System memory holds the rest at the high end, too.
    return _ram_bytes(config) <= (config.machine.free_ram_bytes or 0)


def _ram_bytes(config: RunConfig) -> int:
    if not _is_in_part(config):
        return 0
    if config.arranged is not None:
        return config.arranged.host.total.high
    return config.in_turns.sizes.total if config.in_turns else config.estimate.host_bytes


def _takings(config: RunConfig) -> tuple[Taking, ...]:
    gpus = config.machine.gpus
    if config.arranged is not None:
        held = [share.total.high for share in config.arranged.devices]
        return tuple(Taking(amount) for amount in (held + [0] * len(gpus))[: len(gpus)])
    return (_taking(config.in_turns or config.estimate, gpus[0]),) * len(gpus)


def _taking(estimate: MemoryEstimate, gpu: Gpu) -> Taking:
    needed, memory = estimate.needed.high, memory_of(estimate.engine, gpu)
    share = share_of(estimate, gpu)
    if share is None:
        return Taking(needed)
    if estimate.free_rule.kind == "share_of_free":
        return Taking(needed + memory // HUNDREDTHS)  # its share is rounded up
    outside = max(estimate.shared.outside.high, estimate.free_rule.start_bytes)
    return Taking(max(needed, ceil(share * memory) + outside), round(share * HUNDREDTHS))


def _most_share(estimate: MemoryEstimate) -> int:
    has_option = estimate.free_rule.kind != "share_of_free" and estimate.utilization < 1
    return int(estimate.utilization * HUNDREDTHS + 1e-9) if has_option else HUNDREDTHS
