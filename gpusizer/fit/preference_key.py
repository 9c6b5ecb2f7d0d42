"""PreferenceKey: the criteria by which a way is preferred, in the order of `preference.py`."""

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
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import engines_on
from gpusizer.fit.study import QuantOption, ScopedCache, Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus.costs.power import is_card
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant
from gpusizer.memory.readiness import readiness
from gpusizer.memory.workload import OFFLOADS
from gpusizer.quality.quality import LossWord
from gpusizer.speed.classes import SERVING

# Share of each device to spare at the likely values: longer prompts, a desktop, updates.
SPARE_SHARE = 0.1

# Speeds below comfort count in steps of this factor: predictions cannot distinguish closer ones.
_STEP = 1.25
_WIDE_BITS = 16
_AFTER_TIGHT = Verdict.TIGHT.place + 1
_AT_HOME = frozenset({"consumer", "apple", "soc"})
# Losses up to this word count as equal: no benchmark distinguishes files whose perplexity rises by
# less than 6 % (docs/quality.md), and the table orders them by closeness to the original.
_ALIKE = LossWord.VERY_SMALL.rank


class PreferenceKey(NamedTuple):
    """Sort key of a way, in order of weight; the least is the best."""

    # 0 if all of it is on devices, or 16-bit components take turns there; else the verdict's place
    memory: int
    beyond: int  # rank of a loss above `max_loss`, 0 within it
    verdict: int  # its place: surely fits, then tight, then a stopgap that fits
    unusual: bool  # an unusual quantization or engine, or an engine that is made for fewer users
    short_bytes: int  # bytes that are missing if it does not fit
    last_resort: bool  # for many users, a precision that is taken only if nothing better fits
    several: bool  # for many users, more boards than one server takes
    precision: int  # for many users, distance from what servers use on the card (`audience.toml`)
    boards: int
    cramped: bool  # for one person, less than a tenth of each device is left
    slow: int  # steps below a comfortable speed
    misplaced: bool  # for one person, an engine for servers at home, or one for homes in a server
    unready: int  # distance from running (`memory/readiness.py`)
    lossy: float  # rank of the loss; bits if they are read from system memory
    order: int  # place in the table of quantizations

    @property
    def holds(self) -> bool:
        """Whether it surely fits within `max_loss`."""
        return not (self.verdict or self.beyond)

    @property
    def meets_requirements(self) -> bool:
        """Whether it meets the demands, so that more boards cannot be better."""
        return self.holds and not (self.unusual or self.last_resort or self.precision)

    @property
    def serves_well(self) -> bool:
        """Whether only speed could be better on the same boards."""
        wants = self.cramped or self.misplaced or self.unready
        return self.meets_requirements and not wants and self.lossy <= _ALIKE

    @property
    def wants_nothing(self) -> bool:
        """Whether no later quantization could be better on the same boards."""
        return self.serves_well and not self.slow


def preference_key(
    study: Study, config: RunConfig, rival: PreferenceKey | None = None
) -> PreferenceKey:
    """Return the preference key of a way; its speed is 0 if `rival` is better already."""
    estimate, verdict = config.estimate, config.verdict
    recipe = QuantOption(estimate.quant, estimate.native, estimate.engine, config.is_usual)
    known = suits(study, config.machine, recipe)
    on_gpu, runs = verdict.all_on_gpu, verdict is not Verdict.DOES_NOT_FIT
    rank = study.loss_rank(estimate) if runs else 0
    for_many = audience_of(study) == "many"
    held = on_gpu or _takes_turns(config)
    most = _most_rank(study) if held else study.requirements.most_rank
    until_speed = (
        0 if held else verdict.place,
        rank if rank > most else 0,
        verdict.place + _AFTER_TIGHT * known.stopgap * on_gpu,
        known.unusual or (not runs and _is_rare_at_home(config)),
        0 if runs else config.missing_bytes,
        *known.precision,
        config.machine.boards,
        verdict is Verdict.FITS and not leaves_spare_share(config, for_many=for_many),
    )
    # A speed takes long to compute, so it is left out if earlier criteria decide.
    decided = not on_gpu or (rival is not None and until_speed > rival[: len(until_speed)])
    return PreferenceKey(
        *until_speed,
        0 if decided else _steps_below_comfort(study, config),
        known.misplaced,
        unreadiness(study, config),
        estimate.quant.bits if config.in_part else max(rank, _ALIKE),
        estimate.quant.order,
    )


def _most_rank(study: Study) -> int:
    # Pictures show what four bits lose: little room, and the stored weights in turns, come first.
    most = study.requirements.most_rank
    return most if study.profile.pipeline is None else min(most, _ALIKE)


def _takes_turns(config: RunConfig) -> bool:
    # Whole components in 16 bits, which lose nothing but seconds; single layers take minutes.
    turns, is_wide = config.in_turns, config.estimate.quant.bits >= _WIDE_BITS
    return turns is not None and is_wide and turns.placement.workload.cpu_offload == OFFLOADS[1]


def least_key(study: Study, machine: Machine, option: QuantOption) -> tuple[float, ...]:
    """Return the best standing that an option may have on a machine."""
    # It surely fits, with room, enough speed and no loss.
    known, boards = suits(study, machine, option), machine.boards
    place = _AFTER_TIGHT * known.stopgap
    until_speed = (0, 0, place, known.unusual, 0, *known.precision, boards, False)
    return *until_speed, 0, known.misplaced, 0, _ALIKE, option.quant.order


class _Precision(NamedTuple):
    last_resort: bool
    several: bool
    place: int


class Suits(NamedTuple):
    """Suitability of an option for a machine's boards and the audience, as in `PreferenceKey`."""

    stopgap: int
    unusual: bool
    precision: _Precision
    misplaced: bool


_SUITS: ScopedCache[tuple[object, ...], Suits] = ScopedCache()


def suits(study: Study, machine: Machine, option: QuantOption) -> Suits:
    """Return how an option suits a machine; cached for machines that are alike in this."""
    quant, engine = option.quant, option.engine
    kernels = tuple(gpu.kernel_class for gpu in machine.kinds)
    key = (quant.slug, option.native, engine.slug, option.is_usual, kernels, *_kind_of(machine))
    return _SUITS.get(
        study.quants_scope,
        key,
        lambda: Suits(
            _stopgap(study, machine, option),
            not option.is_usual or is_for_fewer(study, engine),
            _precision(study, machine, quant, native=option.native),
            _is_out_of_place(study, machine, engine),
        ),
    )


def _kind_of(machine: Machine) -> tuple[object, ...]:
    if not machine.gpus:
        return ()
    gpu, boards = machine.gpu, machine.boards
    return gpu.segment, is_card(gpu), boards > 1, boards > SERVER_BOARDS


_UNREADINESS: ScopedCache[tuple[str, bool, str], int] = ScopedCache()


def unreadiness(study: Study, config: RunConfig) -> int:
    """Return the distance of a way from running, 0 if one command starts it."""
    estimate = config.estimate
    quant, native, engine = estimate.quant, estimate.native, estimate.engine
    return _UNREADINESS.get(
        study.workload_scope,
        (quant.slug, native, engine.slug),
        lambda: int(readiness(study.profile, quant, engine, native=native)),
    )


def suitability_of(study: Study, config: RunConfig) -> Suitability:
    """Return the suitability of a way for the study's audience."""
    for_many = audience_of(study) == "many"
    is_copied = study.profile.is_quantized_copy and not config.estimate.native
    to_be_made = is_copied or (for_many and unreadiness(study, config) > 0)
    return Suitability(not_offered(study, config.gpu, config.boards), for_many, to_be_made)


def _stopgap(study: Study, machine: Machine, option: QuantOption) -> int:
    # Above 0 it is taken if a proper way fits in no band. Eager Python is no proper way of a
    # quantization that a faster engine runs; of a quantized copy only its usual engine is one,
    # with the weights as they are.
    eager = option.engine.abilities.launches_kernels
    if not study.profile.is_quantized_copy:
        return int(eager and not _runs_eagerly(study, machine, option.quant))
    usual = engines_on(study, machine, option.quant)[:1]
    if option.native and not eager and option.engine in usual:
        return 0
    stored = (quant for quant, native in study.quants if native)
    return int(not all(_runs_eagerly(study, machine, quant) for quant in stored)) + int(eager)


def _runs_eagerly(study: Study, machine: Machine, quant: Quant) -> bool:
    # By nothing else than kernels launched one by one, or not at all.
    engines = engines_on(study, machine, quant)
    return all(engine.abilities.launches_kernels for engine in engines)


def _is_out_of_place(study: Study, machine: Machine, engine: Engine) -> bool:
    gpus, serves = machine.gpus, engine.abilities.speed_family == SERVING
    if study.profile.pipeline is not None or not gpus or audience_of(study) == "many":
        return False
    # Guides use llama.cpp's family at home; no published recipe uses it on a server's module.
    at_home = gpus[0].segment in _AT_HOME
    is_module = gpus[0].is_for_servers and not is_card(gpus[0])
    return at_home if serves else is_module


def _is_rare_at_home(config: RunConfig) -> bool:
    # What is too large is named in a format that people try there, not in the smallest of all.
    gpus, abilities = config.machine.gpus, config.estimate.engine.abilities
    at_home = bool(gpus) and gpus[0].segment in _AT_HOME
    return at_home and not abilities.common_at_home and abilities.speed_family != SERVING


def leaves_spare_share(config: RunConfig, *, for_many: bool) -> bool:
    """Whether a tenth of each device is left free."""
    # For many users an engine for servers leaves it itself.
    return for_many or config.spare_share >= SPARE_SHARE


def _precision(study: Study, machine: Machine, quant: Quant, *, native: bool) -> _Precision:
    # For one person only a last resort counts: of a checkpoint, and on several modules of servers.
    gpus, is_many, place = machine.gpus, audience_of(study) == "many", 0
    counts = bool(gpus) and (is_many or _share_four_bits(machine))
    joined = machine.boards > 1 and machine.gpu.is_for_servers and not is_card(machine.gpu)
    if counts or joined:
        place = precision_place(quant, machine.gpu, native=native)
    several = is_many and bool(gpus) and machine.boards > SERVER_BOARDS
    last_resort = is_last_resort(study, quant, place, native=native)
    return _Precision(last_resort, several, place if counts else 0)


def _share_four_bits(machine: Machine) -> bool:
    # Engines for servers use all cards of a workstation at once for four bits, llama.cpp none.
    several = machine.gpu.segment == "workstation" and machine.boards > 1
    return several and "fp4" in runnable(machine.gpu.kernel_class).multiplied


def is_for_fewer(study: Study, engine: Engine) -> bool:
    """Whether an engine is made for one or a few users, and there are more."""
    return audience_of(study) == "many" and engine.abilities.speed_family != SERVING


def beyond(study: Study, config: RunConfig) -> bool:
    """Whether a way loses more than `max_loss`."""
    return study.loss_rank(config.estimate) > study.requirements.most_rank


def _steps_below_comfort(study: Study, config: RunConfig) -> int:
    speed, enough = user_speed(study, config), study.requirements.comfortable
    return 0 if speed is None or speed >= enough else ceil(log(enough / speed, _STEP))
