"""Preference: which of several ways to run a model is the better one, in an order one can read.

    fits        all of the model on the devices, then a part in system memory, then from the disk
    loss        no more than the reader's `max_loss`; where nothing else fits, the least
    surely      fits at the high end of every band, then at the likely values
    usual       a quantization to choose unasked, under the engine that people run it with, which is
                one for servers where more than four ask at once
    precision   for many users, and on several cards with FP4 units: no last resort, then within
                one server, then what the card serves in
    boards      the fewest
    room        for one person a tenth of each device is left free
    speed       as fast as one reads in comfort, then by steps of a quarter
    engine      llama.cpp's family for one person at home, none of it on a server's module
    ready       what a command starts, then what a tool makes first, then what another published
    faithful    the more faithful quantization; where a part stays in system memory, the fewest bits

What comes first decides; what comes later breaks ties. Rankings, named GPUs, comparisons, machines
with several cards, remedies and plans choose by it, so that they agree about a card.
docs/recommendation.md says why.
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
    """The best way so far, and which options cannot be better."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.most = study.demands.most_rank
        self.best: Way | None = None
        self.key: Standing | None = None
        self.as_fast: set[tuple[str, float, str]] = set()
        self.machine = _NO_MACHINE

    def on(self, machine: Machine) -> None:
        """Go on with another machine."""
        self.as_fast.clear()
        self.machine = machine

    def passed_over(self, option: QuantOption) -> bool:
        """Whether an option cannot be better than the best way so far: at best it takes a later
        place, or it loses more than may be lost, or it is as fast as a more faithful one on the
        same boards that only lacks speed. Nor are more boards weighed for engines that are made
        for fewer users than ask."""
        if self.key is None or not self.key.holds:
            return False
        if self.machine.boards > self.key.boards and is_for_fewer(self.study, option.engine):
            return True
        if least_standing(self.study, self.machine, option) >= self.key:
            return True
        if not self.key.stands:
            return False
        too_much = self.study.known_loss_rank(option) > self.most
        return too_much or _kind(option.engine, option.quant) in self.as_fast

    def consider(self, way: Way) -> Standing:
        """Take a way where it is better, and return the standing of the best."""
        other = standing(self.study, way, self.key)
        if self.key is None or other < self.key:
            self.best, self.key = way, other
        if other.serves_well:
            self.as_fast.add(_kind(way.estimate.engine, way.estimate.quant))
        return self.key


_NO_MACHINE = Machine((), None, CPU)


def _kind(engine: Engine, quant: Quant) -> tuple[str, float, str]:
    """Ways of one engine, width and unit that multiplies it are as fast as each other."""
    return engine.slug, quant.bits, quant.needs


def choose(study: Study, machines: Iterable[Machine], *, whole: bool = False) -> Way | None:
    """The best way on any of the machines, which come with the fewest boards first; None where no
    engine runs the model there. `whole` asks for all of the model on the devices.
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
    """The best way on one machine; where no engine runs the model there, a way that says why."""
    return choose(study, [machine]) or not_supported(study, machine)


def one_for_all(study: Study, own: Sequence[Way]) -> QuantPair | None:
    """The best quantization that all machines take, the one that stands best where it stands worst,
    so that their speeds compare cards; None where their own choices agree already. A machine on
    which no quantization runs at all has no say.

    `own` is the preferred way on each machine.
    """
    running = [way for way in own if way.verdict.runs]
    if len({(way.estimate.quant, way.estimate.native) for way in running}) < 2:
        return None
    machines = [way.machine for way in running]
    return min(study.quants, key=lambda pair: _worst_standing(study, pair, machines))


def _worst_standing(
    study: Study, pair: QuantPair, machines: Sequence[Machine]
) -> tuple[bool, tuple[float, ...]]:
    """Whether a machine does not run it, and the worst of each part of its standing."""
    ways = [best_way(study.among([pair]), machine) for machine in machines]
    worst = zip(*(standing(study, way) for way in ways), strict=True)
    return not all(way.verdict.runs for way in ways), tuple(map(max, worst))


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def _machine_of(gpu: Gpu, boards: int) -> Machine:
    """The machine of so many boards, made once for all models."""
    return Machine.of(gpu, boards)


def best_on_boards(study: Study, gpu: Gpu, counts: Sequence[int] | None = None) -> Way | None:
    """The best way with all of the model on boards of one kind, None where none holds it.

    `counts` are the numbers of boards to try, smallest first; None for those that one plans with.
    """
    machines = (_machine_of(gpu, boards) for boards in counts or board_counts(gpu))
    best = choose(study, machines, whole=True)
    return best if best is not None and best.verdict.all_on_gpu else None


def fastest_on_boards(study: Study, gpu: Gpu, counts: Sequence[int]) -> Way | None:
    """The fastest usual way with all of the model on boards of one kind that surely fits within
    what may be lost; None where there is none, or no speed is known."""
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
    """The ways on any of these numbers of boards between which only a load decides: usual ones that
    surely fit within what may be lost, of each engine, width and unit that multiplies it the first
    of the table. Engines made for one user are weighed where no server's runs the model on any of
    them. The best way on each number alone where there are none, and none where nothing fits.
    """
    for for_servers in (True, False):
        found = [w for n in counts for w in _for_a_load(study, _machine_of(gpu, n), for_servers)]
        if found:
            return found
    alone = (best_on_boards(study, gpu, (count,)) for count in counts)
    return [way for way in alone if way is not None]


def _for_a_load(study: Study, machine: Machine, for_servers: bool) -> Iterable[Way]:
    """The first usual way of each kind that surely fits, under engines for servers or others."""
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
    """Yield the usual ways with all of the model on the devices that surely fit within what may be
    lost."""
    for way in ways(study, machine, usual=True, whole=True, passed_over=passed_over):
        if way.verdict is Verdict.FITS and not beyond(study, way):
            yield way
