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

from collections.abc import Iterable, Sequence
from math import ceil, log
from typing import NamedTuple

from gpusizer.fit.audience import (
    Suitability,
    audience_of,
    is_last_resort,
    is_wide,
    not_offered,
    precision_place,
)
from gpusizer.fit.compatibility import runnable
from gpusizer.fit.division import board_counts
from gpusizer.fit.machine import Machine
from gpusizer.fit.speed.classes import SERVING
from gpusizer.fit.study import QuantOption, QuantPair, Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.fit.ways import not_supported, ways
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.power import is_card
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.memory.readiness import readiness
from gpusizer.quality.quality import LossWord

SPARE_SHARE = 0.1
"""Share of each device to spare at the likely values: longer prompts, a desktop, updates."""

_STEP = 1.25
"""Speeds below comfort count in steps of this factor: predictions do not tell closer ones apart."""
_BOARDS_OF_A_SERVER = 8
_AT_HOME = frozenset({"consumer", "apple", "soc"})
_ALIKE = LossWord.VERY_SMALL.rank
"""Up to this word losses count as one: no benchmark tells files apart whose perplexity rises by
less than 6 % (docs/quality.md), and which of them is nearer to the original is in the table."""


class Standing(NamedTuple):
    """What a way is preferred by, in order; the least is the best.

    Attributes:
        memory: 0 where all of it is on devices, else the place of the verdict.
        beyond: rank of a loss above `max_loss`, 0 within it.
        verdict: its place: surely fits before tight.
        unusual: nobody's first choice, or under an engine that is not, or that is made for fewer.
        short_bytes: what is missing where it does not fit.
        last_resort: for many users, a precision that is taken where nothing better fits.
        several: for many users, more boards than one server takes.
        precision: for many users, how far it is from what the card serves in (`audience.toml`).
        cramped: for one person, a tenth of each device is not left.
        slow: steps below a comfortable speed.
        misplaced: for one person, an engine for servers at home, or one for homes in a server.
        unready: how far it is from running (`memory/readiness.py`).
        lossy: rank of the loss, of narrow bits where they are read from system memory.
        order: place in the table of quantizations.
    """

    memory: int
    beyond: int
    verdict: int
    unusual: bool
    short_bytes: int
    last_resort: bool
    several: bool
    precision: int
    boards: int
    cramped: bool
    slow: int
    misplaced: bool
    unready: int
    lossy: float
    order: int

    @property
    def holds(self) -> bool:
        """Whether it surely fits within what may be lost."""
        return not (self.verdict or self.beyond)

    @property
    def stands(self) -> bool:
        """Whether it is within what is asked for, so that more boards are not worth a thought."""
        return self.holds and not (self.unusual or self.last_resort or self.precision)

    @property
    def serves_well(self) -> bool:
        """Whether only speed could be better on the same boards."""
        wants = self.cramped or self.misplaced or self.unready
        return self.stands and not wants and self.lossy <= _ALIKE

    @property
    def wants_nothing(self) -> bool:
        """Whether nothing later in the table could be better on the same boards."""
        return self.serves_well and not self.slow


def standing(study: Study, way: Way, rival: Standing | None = None) -> Standing:
    """What a way to run the model of a study is preferred by.

    The speed is left out, as 0, where everything before it decides for the rival already.
    """
    quant, verdict = way.estimate.quant, way.verdict
    on_gpu, runs = verdict.all_on_gpu, verdict is not Verdict.DOES_NOT_FIT
    rank = study.loss_rank(way.estimate) if runs else 0
    is_many = audience_of(study) == "many"
    precision = _precision(study, way.machine, quant, native=way.estimate.native)
    found = Standing(
        memory=0 if on_gpu else verdict.place,
        beyond=rank if rank > study.demands.most_rank else 0,
        verdict=verdict.place,
        unusual=not way.is_usual or _is_for_fewer(study, way.estimate.engine),
        short_bytes=0 if runs else -way.headroom_bytes,
        last_resort=precision.last_resort,
        several=precision.several,
        precision=precision.place,
        boards=way.boards if way.machine.gpus else 0,
        cramped=verdict is Verdict.FITS and not has_room(way, for_many=is_many),
        slow=0,
        misplaced=_is_out_of_place(study, way),
        unready=unreadiness(study, way),
        lossy=quant.bits if way.in_part else max(rank, _ALIKE),
        order=quant.order,
    )
    if not on_gpu or (rival is not None and found[:_SPEED] > rival[:_SPEED]):
        return found
    return found._replace(slow=_steps_below_comfort(study, way))


_SPEED = Standing._fields.index("slow")


def unreadiness(study: Study, way: Way) -> int:
    """How far a way is from running, 0 where one command starts it."""
    estimate = way.estimate
    key = ("readiness", estimate.quant.slug, estimate.native, estimate.engine.slug)
    if key not in study.kept:
        study.kept[key] = int(
            readiness(study.profile, estimate.quant, estimate.engine, native=estimate.native)
        )
    found: int = study.kept[key]
    return found


def suitability_of(study: Study, way: Way) -> Suitability:
    """How a way suits who asks."""
    for_many = audience_of(study) == "many"
    to_be_made = for_many and unreadiness(study, way) > 0
    return Suitability(not_offered(study, way.gpu, way.boards), for_many, to_be_made)


def _is_out_of_place(study: Study, way: Way) -> bool:
    """Whether an engine for servers runs for one person at home, where guides take llama.cpp's
    family; or one of that family on a server's module, for which no published recipe takes it."""
    gpus, serves = way.machine.gpus, way.estimate.engine.abilities.speed_family == SERVING
    if study.profile.pipeline is not None or not gpus or audience_of(study) == "many":
        return False
    at_home = gpus[0].segment in _AT_HOME
    is_module = gpus[0].is_for_servers and not is_card(gpus[0])
    return at_home if serves else is_module


def has_room(way: Way, *, for_many: bool) -> bool:
    """Whether a tenth of each device is left; for many users an engine for servers leaves it."""
    return for_many or way.spare_share >= SPARE_SHARE


class _Precision(NamedTuple):
    """How far a precision is from what boards serve in (`Standing`); the least is the best."""

    last_resort: bool
    several: bool
    place: int


def _precision(study: Study, machine: Machine, quant: Quant, *, native: bool) -> _Precision:
    """How far a precision on the boards of a machine is from what they serve in; for one person
    only whether it is a last resort, of a checkpoint."""
    is_many, place = audience_of(study) == "many", 0
    if machine.gpus and (is_many or _share_four_bits(machine)):
        place = precision_place(quant, machine.gpu, native=native)
    several = is_many and bool(machine.gpus) and machine.boards > _BOARDS_OF_A_SERVER
    return _Precision(is_last_resort(study, quant, place, native=native), several, place)


def _share_four_bits(machine: Machine) -> bool:
    """Whether several cards of a workstation multiply four bits, which engines for servers use on
    all of them at once, and llama.cpp on none."""
    several = machine.gpu.segment == "workstation" and machine.boards > 1
    return several and "fp4" in runnable(machine.gpu.kernel_class).multiplied


def _is_for_fewer(study: Study, engine: Engine) -> bool:
    """Whether an engine is made for one user and a few beside, and there are more."""
    return audience_of(study) == "many" and engine.abilities.speed_family != SERVING


def beyond(study: Study, way: Way) -> bool:
    """Whether a way loses more than the most that is asked for."""
    return study.loss_rank(way.estimate) > study.demands.most_rank


def _steps_below_comfort(study: Study, way: Way) -> int:
    """Steps below a comfortable speed, 0 where the speed is enough or unknown."""
    speed, enough = user_speed(study, way), study.demands.comfortable
    return 0 if speed is None or speed >= enough else ceil(log(enough / speed, _STEP))


class _Search:
    """The best way so far, and which options cannot be better."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.most = study.demands.most_rank
        self.best: Way | None = None
        self.key: Standing | None = None
        self.as_fast: set[tuple[str, float, str]] = set()
        self.machine: Machine | None = None
        self.usual = True

    def on(self, machine: Machine, *, usual: bool) -> None:
        """Go on with the usual ways on another machine, or with the others."""
        self.as_fast.clear()
        self.machine, self.usual = machine, usual

    def passed_over(self, option: QuantOption) -> bool:
        """Whether an option on the same boards loses more than may be lost where another does not,
        or is as fast as a more faithful one that only lacks speed; on more boards, whether fewer
        are enough."""
        if self.key is None:
            return False
        if not self.key.stands:
            return self.key.holds and self._on_too_many(option, self.key)
        too_much = self.study.known_loss_rank(option) > self.most
        return too_much or _kind(option.engine, option.quant) in self.as_fast

    def _on_too_many(self, option: QuantOption, key: Standing) -> bool:
        """Whether an option on more boards than hold it is made for fewer users, or no nearer to
        what the boards serve in."""
        machine = self.machine
        if machine is None or not machine.gpus or machine.boards <= key.boards:
            return False
        if _is_for_fewer(self.study, option.engine):
            return True
        own = _precision(self.study, machine, option.quant, native=option.native)
        nearer = not key.unusual or not self.usual  # no usual way follows that would come first
        return nearer and own >= (key.last_resort, key.several, key.precision)

    def consider(self, way: Way) -> Standing:
        """Take a way where it is better, and return the standing of the best."""
        other = standing(self.study, way, self.key)
        if self.key is None or other < self.key:
            self.best, self.key = way, other
        if other.serves_well:
            self.as_fast.add(_kind(way.estimate.engine, way.estimate.quant))
        return self.key


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
            search.on(machine, usual=usual)
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


def best_on_boards(study: Study, gpu: Gpu, counts: Sequence[int] | None = None) -> Way | None:
    """The best way with all of the model on boards of one kind, None where none holds it.

    `counts` are the numbers of boards to try, smallest first; None for those that one plans with.
    """
    machines = (Machine.of(gpu, boards) for boards in counts or board_counts(gpu))
    best = choose(study, machines, whole=True)
    return best if best is not None and best.verdict.all_on_gpu else None


def fastest_on_boards(study: Study, gpu: Gpu, counts: Sequence[int]) -> Way | None:
    """The fastest usual way with all of the model on boards of one kind that surely fits within
    what may be lost; None where there is none, or no speed is known."""
    found: list[tuple[bool, float, Way]] = []
    for machine in (Machine.of(gpu, boards) for boards in counts):
        for way in ways(study, machine, usual=True, whole=True):
            place = standing(study, way)
            speed = user_speed(study, way) if place.holds else None
            odd = place.unusual or place.misplaced or place.last_resort or place.several
            if speed is not None and not odd:
                found.append((is_wide(way.estimate.quant, gpu), -speed, way))
    return min(found, key=lambda each: each[:2], default=(False, 0.0, None))[2]


def ways_for_a_load(study: Study, gpu: Gpu, counts: Sequence[int]) -> list[Way]:
    """The ways on any of these numbers of boards between which only a load decides: usual ones that
    surely fit within what may be lost, of each engine, width and unit that multiplies it the first
    of the table. Engines made for one user are weighed where no server's runs the model on any of
    them. The best way on each number alone where there are none, and none where nothing fits.
    """
    for for_servers in (True, False):
        found = [w for n in counts for w in _for_a_load(study, Machine.of(gpu, n), for_servers)]
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

    for way in ways(study, machine, usual=True, whole=True, passed_over=passed_over):
        if way.verdict is Verdict.FITS and not beyond(study, way):
            found[_kind(way.estimate.engine, way.estimate.quant)] = way
    return found.values()
