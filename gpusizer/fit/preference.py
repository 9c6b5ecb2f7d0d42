"""Preference: the order in which ways to run a model are compared.

    fits        all of the model on the devices, then a part in system memory, then from the disk
    loss        no more than `max_loss`; if nothing else fits, the least
    surely      fits at the high end of every band, then at the likely values
    usual       a quantization to choose unasked, under its usual engine; an engine for servers if
                more than four users ask at once
    precision   for many users, and on several cards with FP4 units: no last resort, then within
                one server, then what servers use on the card
    boards      the fewest
    room        for one person a tenth of each device is left free
    speed       as fast as one reads in comfort, then by steps of a quarter
    engine      llama.cpp's family for one person at home, none of it on a server's module
    ready       what a command starts, then what a tool makes first, then what another published
    faithful    the more faithful quantization; if a part is in system memory, the fewest bits

An earlier criterion decides, a later one breaks ties. Rankings, named GPUs, comparisons, rigs,
remedies and plans all choose by it and therefore agree. docs/recommendation.md gives reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from gpusizer.fit.audience import is_wide
from gpusizer.fit.division import board_counts
from gpusizer.fit.machine import CPU, Machine
from gpusizer.fit.standing import (
    Standing,
    beyond,
    is_for_fewer,
    least_standing,
    standing,
    suits,
)
from gpusizer.fit.study import QuantOption, QuantPair, Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.fit.ways import not_supported, ways
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.speed.classes import SERVING


class _Search:
    """The best way found so far, and a test for options that cannot be better."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.most = study.demands.most_rank
        self.best: Way | None = None
        self.key: Standing | None = None
        self.as_fast: set[tuple[str, float, str]] = set()
        self.machine = _NO_MACHINE

    def on(self, machine: Machine) -> None:
        """Continue with another machine."""
        self.as_fast.clear()
        self.machine = machine

    def passed_over(self, option: QuantOption) -> bool:
        """Whether an option cannot be better than the best way so far."""
        if self.key is None or not self.key.holds:
            return False
        # More boards are not tried for engines that are made for fewer users.
        if self.machine.boards > self.key.boards and is_for_fewer(self.study, option.engine):
            return True
        if least_standing(self.study, self.machine, option) >= self.key:
            return True
        if not self.key.stands:
            return False
        # It may lose too much, or be as fast as a more faithful one on the same boards that lacks
        # only speed.
        too_much = self.study.known_loss_rank(option) > self.most
        return too_much or _kind(option.engine, option.quant) in self.as_fast

    def consider(self, way: Way) -> Standing:
        """Take a way if it is better, and return the standing of the best."""
        other = standing(self.study, way, self.key)
        if self.key is None or other < self.key:
            self.best, self.key = way, other
        if other.serves_well:
            self.as_fast.add(_kind(way.estimate.engine, way.estimate.quant))
        return self.key


_NO_MACHINE = Machine((), None, CPU)


def _kind(engine: Engine, quant: Quant) -> tuple[str, float, str]:
    # Ways with the same engine, bits and unit that multiplies them have the same speed.
    return engine.slug, quant.bits, quant.needs


def choose(study: Study, machines: Iterable[Machine], *, whole: bool = False) -> Way | None:
    """Return the best way on any of the machines, None if no engine runs the model there.

    `machines` are ordered by boards, fewest first. `whole` requires all of the model on the
    devices.
    """
    search, every = _Search(study), tuple(machines)
    for usual in (True, False):
        for machine in every:
            search.on(machine)
            found = ways(study, machine, usual=usual, whole=whole, passed_over=search.passed_over)
            for way in found:
                if search.consider(way).wants_nothing:
                    return search.best
            if search.key is not None and search.key.stands:
                return search.best
        if search.key is not None and search.key.holds:
            break  # an unusual way on fewer boards comes after a usual one on more
    return search.best


def best_way(study: Study, machine: Machine) -> Way:
    """Return the best way on a machine, or one with reasons if no engine runs the model."""
    return choose(study, [machine]) or not_supported(study, machine)


def one_for_all(study: Study, own: Sequence[Way]) -> QuantPair | None:
    """Return the quantization that is best on the machine it suits least, for comparable speeds.

    `own` is the preferred way on each machine. None if these use the same quantization already.
    """
    # A machine without any running quantization is left out.
    running = [way for way in own if way.verdict.runs]
    if len({(way.estimate.quant, way.estimate.native) for way in running}) < 2:
        return None
    machines = [way.machine for way in running]
    return min(study.quants, key=lambda pair: _worst_standing(study, pair, machines))


def _worst_standing(
    study: Study, pair: QuantPair, machines: Sequence[Machine]
) -> tuple[bool, tuple[float, ...]]:
    # Unsupported anywhere is worst, then the worst of each criterion over all machines.
    ways = [best_way(study.among([pair]), machine) for machine in machines]
    worst = zip(*(standing(study, way) for way in ways), strict=True)
    return not all(way.verdict.runs for way in ways), tuple(map(max, worst))


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def _machine_of(gpu: Gpu, boards: int) -> Machine:
    return Machine.of(gpu, boards)


def best_on_boards(study: Study, gpu: Gpu, counts: Sequence[int] | None = None) -> Way | None:
    """Return the best way with all of the model on boards of one kind, None if none holds it.

    `counts` are the numbers of boards to try, smallest first; None for `board_counts`.
    """
    machines = (_machine_of(gpu, boards) for boards in counts or board_counts(gpu))
    best = choose(study, machines, whole=True)
    return best if best is not None and best.verdict.all_on_gpu else None


def fastest_on_boards(study: Study, gpu: Gpu, counts: Sequence[int]) -> Way | None:
    """Return the fastest usual way on boards of one kind that surely fits within `max_loss`.

    None without such a way, or if its speed is unknown.
    """
    found: list[tuple[bool, float, Way]] = []
    for machine in (_machine_of(gpu, boards) for boards in counts):

        def is_odd(option: QuantOption, machine: Machine = machine) -> bool:
            known = suits(study, machine, option)
            return known.unusual or known.misplaced or any(known.precision[:2])

        for way in _sure_ways(study, machine, is_odd):
            speed = user_speed(study, way)
            if speed is not None:
                found.append((is_wide(way.estimate.quant, gpu), -speed, way))
    return min(found, key=lambda each: each[:2], default=(False, 0.0, None))[2]


def ways_for_a_load(study: Study, gpu: Gpu, counts: Sequence[int]) -> list[Way]:
    """Return the ways on `counts` boards between which only a load decides.

    These are usual ways that surely fit within `max_loss`, the first of each engine, bits and unit.
    Without any, the best way on each number of boards.
    """
    # Engines made for one user are compared only if no engine for servers runs the model.
    for for_servers in (True, False):
        found = [w for n in counts for w in _for_a_load(study, _machine_of(gpu, n), for_servers)]
        if found:
            return found
    alone = (best_on_boards(study, gpu, (count,)) for count in counts)
    return [way for way in alone if way is not None]


def _for_a_load(study: Study, machine: Machine, for_servers: bool) -> Iterable[Way]:
    found: dict[tuple[str, float, str], Way] = {}

    def passed_over(option: QuantOption) -> bool:
        family = option.engine.abilities.speed_family
        return (family == SERVING) != for_servers or _kind(option.engine, option.quant) in found

    for way in _sure_ways(study, machine, passed_over):
        found[_kind(way.estimate.engine, way.estimate.quant)] = way
    return found.values()


def _sure_ways(
    study: Study, machine: Machine, passed_over: Callable[[QuantOption], bool]
) -> Iterator[Way]:
    # They fit at the high end of every band and within `max_loss`.
    for way in ways(study, machine, usual=True, whole=True, passed_over=passed_over):
        if way.verdict is Verdict.FITS and not beyond(study, way):
            yield way
