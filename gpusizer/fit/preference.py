"""Preference: the order in which ways to run a model are compared.

    fits        all of the model on the devices, at once or component by component in 16 bits, then
                a part in system memory, then from the disk
    loss        no more than `max_loss`; if nothing else fits, the least
    surely      fits at the high end of every band, then at the likely values, then as a stopgap
    usual       a quantization to choose unasked, under its usual engine; an engine for servers if
                more than four users ask at once
    precision   for many users, and on several modules of servers or cards with FP4 units: no last
                resort; then, but not on modules for one person, within one server, then what
                servers use on the card
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
from gpusizer.fit.preference_key import (
    PreferenceKey,
    beyond,
    is_for_fewer,
    least_key,
    preference_key,
    suits,
)
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import enumerate_configs, not_supported
from gpusizer.fit.study import QuantOption, QuantPair, Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.speed.classes import SERVING


class _Search:
    """The best way found so far, and a test for options that cannot be better."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.most = study.requirements.most_rank
        self.best: RunConfig | None = None
        self.key: PreferenceKey | None = None
        self.as_fast: set[tuple[str, float, str]] = set()
        self.machine = _NO_MACHINE

    def on(self, machine: Machine) -> None:
        """Continue with another machine."""
        self.as_fast.clear()
        self.machine = machine

    def is_dominated(self, option: QuantOption) -> bool:
        """Whether an option cannot be better than the best way so far."""
        if self.key is None or not self.key.holds:
            return False
        # More boards are not tried for engines that are made for fewer users.
        if self.machine.boards > self.key.boards and is_for_fewer(self.study, option.engine):
            return True
        if least_key(self.study, self.machine, option) >= self.key:
            return True
        if not self.key.meets_requirements:
            return False
        # It may lose too much, or be as fast as a more faithful one on the same boards that lacks
        # only speed.
        too_much = self.study.known_loss_rank(option) > self.most
        return too_much or _kind(option.engine, option.quant) in self.as_fast

    def consider(self, config: RunConfig) -> PreferenceKey:
        """Take a way if it is better, and return the key of the best."""
        other = preference_key(self.study, config, self.key)
        if self.key is None or other < self.key:
            self.best, self.key = config, other
        if other.serves_well:
            self.as_fast.add(_kind(config.estimate.engine, config.estimate.quant))
        return self.key


_NO_MACHINE = Machine((), None, CPU)


def _kind(engine: Engine, quant: Quant) -> tuple[str, float, str]:
    # Ways with the same engine, bits and unit that multiplies them have the same speed.
    return engine.slug, quant.bits, quant.needs


def choose(study: Study, machines: Iterable[Machine], *, whole: bool = False) -> RunConfig | None:
    """Return the best way on any of the machines, None if no engine runs the model there.

    `machines` are ordered by boards, fewest first. `whole` requires all of the model on the
    devices.
    """
    search, every = _Search(study), tuple(machines)
    for usual in (True, False):
        for machine in every:
            search.on(machine)
            found = enumerate_configs(
                study, machine, usual=usual, whole=whole, is_dominated=search.is_dominated
            )
            for config in found:
                if search.consider(config).wants_nothing:
                    return search.best
            if search.key is not None and search.key.meets_requirements:
                return search.best
        if search.key is not None and search.key.holds:
            break  # an unusual way on fewer boards comes after a usual one on more
    return search.best


def best_config(study: Study, machine: Machine) -> RunConfig:
    """Return the best way on a machine, or one with reasons if no engine runs the model."""
    return choose(study, [machine]) or not_supported(study, machine)


def one_for_all(own: Sequence[tuple[Study, RunConfig]]) -> QuantPair | None:
    """Return the quantization that is best on the machine it suits least, for comparable speeds.

    `own` is the preferred way on each machine, with the study for which it was made. None if these
    use the same quantization already.
    """
    # A machine without any running quantization is left out.
    running = [(study, config) for study, config in own if config.verdict.runs]
    if len({(config.estimate.quant, config.estimate.native) for _, config in running}) < 2:
        return None
    machines = [(study, config.machine) for study, config in running]
    return min(running[0][0].quants, key=lambda pair: _worst_standing(pair, machines))


def _worst_standing(
    pair: QuantPair, machines: Sequence[tuple[Study, Machine]]
) -> tuple[bool, tuple[float, ...]]:
    # Unsupported anywhere is worst, then the worst of each criterion over all machines.
    ways = [(study, best_config(study.with_quants([pair]), machine)) for study, machine in machines]
    worst = zip(*(preference_key(study, config) for study, config in ways), strict=True)
    return not all(config.verdict.runs for _, config in ways), tuple(map(max, worst))


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def _machine_of(gpu: Gpu, boards: int) -> Machine:
    return Machine.with_boards(gpu, boards)


def best_on_boards(study: Study, gpu: Gpu, counts: Sequence[int] | None = None) -> RunConfig | None:
    """Return the best way with all of the model on boards of one kind, None if none holds it.

    `counts` are the numbers of boards to try, smallest first; None for `board_counts`.
    """
    machines = (_machine_of(gpu, boards) for boards in counts or board_counts(gpu))
    best = choose(study, machines, whole=True)
    return best if best is not None and best.verdict.all_on_gpu else None


def fastest_on_boards(study: Study, gpu: Gpu, counts: Sequence[int]) -> RunConfig | None:
    """Return the fastest usual way on boards of one kind that surely fits within `max_loss`.

    None without such a way, or if its speed is unknown.
    """
    found: list[tuple[bool, float, RunConfig]] = []
    for machine in (_machine_of(gpu, boards) for boards in counts):

        def is_odd(option: QuantOption, machine: Machine = machine) -> bool:
            known = suits(study, machine, option)
            return known.unusual or known.misplaced or any(known.precision[:2])

        for config in _sure_ways(study, machine, is_odd):
            speed = user_speed(study, config)
            if speed is not None:
                found.append((is_wide(config.estimate.quant, gpu), -speed, config))
    return min(found, key=lambda each: each[:2], default=(False, 0.0, None))[2]


def ways_for_a_load(study: Study, gpu: Gpu, counts: Sequence[int]) -> list[RunConfig]:
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
    return [config for config in alone if config is not None]


def _for_a_load(study: Study, machine: Machine, for_servers: bool) -> Iterable[RunConfig]:
    found: dict[tuple[str, float, str], RunConfig] = {}

    def is_dominated(option: QuantOption) -> bool:
        family = option.engine.abilities.speed_family
        return (family == SERVING) != for_servers or _kind(option.engine, option.quant) in found

    for config in _sure_ways(study, machine, is_dominated):
        found[_kind(config.estimate.engine, config.estimate.quant)] = config
    return found.values()


def _sure_ways(
    study: Study, machine: Machine, is_dominated: Callable[[QuantOption], bool]
) -> Iterator[RunConfig]:
    # They fit at the high end of every band and within `max_loss`.
    for config in enumerate_configs(
        study, machine, usual=True, whole=True, is_dominated=is_dominated
    ):
        if config.verdict is Verdict.FITS and not beyond(study, config):
            yield config
