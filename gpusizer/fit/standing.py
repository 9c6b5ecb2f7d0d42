"""Standing: what a way to run a model is preferred by, in the order of `preference.py`."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

from gpusizer.fit.audience import (
    Suitability,
    audience_of,
    is_last_resort,
    not_offered,
    precision_place,
)
from gpusizer.fit.compatibility import runnable
from gpusizer.fit.machine import Machine
from gpusizer.fit.platforms import SERVER_BOARDS
from gpusizer.fit.study import QuantOption, ScopedCache, Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.gpus.costs.power import is_card
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.memory.readiness import readiness
from gpusizer.quality.quality import LossWord
from gpusizer.speed.classes import SERVING

SPARE_SHARE = 0.1
"""Share of each device to spare at the likely values: longer prompts, a desktop, updates."""

_STEP = 1.25
"""Speeds below comfort count in steps of this factor: predictions do not tell closer ones apart."""
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
    estimate, verdict = way.estimate, way.verdict
    recipe = QuantOption(estimate.quant, estimate.native, estimate.engine, way.is_usual)
    known = suits(study, way.machine, recipe)
    on_gpu, runs = verdict.all_on_gpu, verdict is not Verdict.DOES_NOT_FIT
    rank = study.loss_rank(estimate) if runs else 0
    for_many = audience_of(study) == "many"
    until_speed = (
        0 if on_gpu else verdict.place,
        rank if rank > study.demands.most_rank else 0,
        verdict.place,
        known.unusual,
        0 if runs else -way.headroom_bytes,
        *known.precision,
        way.machine.boards,
        verdict is Verdict.FITS and not has_room(way, for_many=for_many),
    )
    decided = not on_gpu or (rival is not None and until_speed > rival[: len(until_speed)])
    return Standing(
        *until_speed,
        0 if decided else _steps_below_comfort(study, way),
        known.misplaced,
        unreadiness(study, way),
        estimate.quant.bits if way.in_part else max(rank, _ALIKE),
        estimate.quant.order,
    )


def least_standing(study: Study, machine: Machine, option: QuantOption) -> tuple[float, ...]:
    """The standing of an option that surely fits, with room, speed enough and no loss: the least
    that it may have on the machine."""
    known, boards = suits(study, machine, option), machine.boards
    until_speed = (0, 0, 0, known.unusual, 0, *known.precision, boards, False)
    return *until_speed, 0, known.misplaced, 0, _ALIKE, option.quant.order


class _Precision(NamedTuple):
    """How far a precision is from what boards serve in (`Standing`); the least is the best."""

    last_resort: bool
    several: bool
    place: int


class Suits(NamedTuple):
    """How an option suits the boards of a machine and who asks, as of `Standing`."""

    unusual: bool
    precision: _Precision
    misplaced: bool


_SUITS: ScopedCache[tuple[object, ...], Suits] = ScopedCache()


def suits(study: Study, machine: Machine, option: QuantOption) -> Suits:
    """How an option suits a machine, found once for all boards that it suits alike."""
    quant, engine = option.quant, option.engine
    key = (quant.slug, option.native, engine.slug, option.is_usual, *_kind_of(machine))
    return _SUITS.get(
        study.quants_scope,
        key,
        lambda: Suits(
            not option.is_usual or is_for_fewer(study, engine),
            _precision(study, machine, quant, native=option.native),
            _is_out_of_place(study, machine, engine),
        ),
    )


def _kind_of(machine: Machine) -> tuple[object, ...]:
    """What decides how an option suits the boards of a machine."""
    if not machine.gpus:
        return ()
    gpu, boards = machine.gpu, machine.boards
    return gpu.kernel_class, gpu.segment, is_card(gpu), boards > 1, boards > SERVER_BOARDS


_UNREADINESS: ScopedCache[tuple[str, bool, str], int] = ScopedCache()


def unreadiness(study: Study, way: Way) -> int:
    """How far a way is from running, 0 where one command starts it."""
    estimate = way.estimate
    quant, native, engine = estimate.quant, estimate.native, estimate.engine
    return _UNREADINESS.get(
        study.workload_scope,
        (quant.slug, native, engine.slug),
        lambda: int(readiness(study.profile, quant, engine, native=native)),
    )


def suitability_of(study: Study, way: Way) -> Suitability:
    """How a way suits who asks."""
    for_many = audience_of(study) == "many"
    to_be_made = for_many and unreadiness(study, way) > 0
    return Suitability(not_offered(study, way.gpu, way.boards), for_many, to_be_made)


def _is_out_of_place(study: Study, machine: Machine, engine: Engine) -> bool:
    """Whether an engine for servers runs for one person at home, where guides take llama.cpp's
    family; or one of that family on a server's module, for which no published recipe takes it."""
    gpus, serves = machine.gpus, engine.abilities.speed_family == SERVING
    if study.profile.pipeline is not None or not gpus or audience_of(study) == "many":
        return False
    at_home = gpus[0].segment in _AT_HOME
    is_module = gpus[0].is_for_servers and not is_card(gpus[0])
    return at_home if serves else is_module


def has_room(way: Way, *, for_many: bool) -> bool:
    """Whether a tenth of each device is left; for many users an engine for servers leaves it."""
    return for_many or way.spare_share >= SPARE_SHARE


def _precision(study: Study, machine: Machine, quant: Quant, *, native: bool) -> _Precision:
    """How far a precision on the boards of a machine is from what they serve in; for one person
    only whether it is a last resort, of a checkpoint."""
    is_many, place = audience_of(study) == "many", 0
    if machine.gpus and (is_many or _share_four_bits(machine)):
        place = precision_place(quant, machine.gpu, native=native)
    several = is_many and bool(machine.gpus) and machine.boards > SERVER_BOARDS
    return _Precision(is_last_resort(study, quant, place, native=native), several, place)


def _share_four_bits(machine: Machine) -> bool:
    """Whether several cards of a workstation multiply four bits, which engines for servers use on
    all of them at once, and llama.cpp on none."""
    several = machine.gpu.segment == "workstation" and machine.boards > 1
    return several and "fp4" in runnable(machine.gpu.kernel_class).multiplied


def is_for_fewer(study: Study, engine: Engine) -> bool:
    """Whether an engine is made for one user and a few beside, and there are more."""
    return audience_of(study) == "many" and engine.abilities.speed_family != SERVING


def beyond(study: Study, way: Way) -> bool:
    """Whether a way loses more than the most that is asked for."""
    return study.loss_rank(way.estimate) > study.demands.most_rank


def _steps_below_comfort(study: Study, way: Way) -> int:
    """Steps below a comfortable speed, 0 where the speed is enough or unknown."""
    speed, enough = user_speed(study, way), study.demands.comfortable
    return 0 if speed is None or speed >= enough else ceil(log(enough / speed, _STEP))
