"""Notes on the choice of a quantization: its loss, and the gain for that."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.division import board_counts
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference_key import SPARE_SHARE, beyond
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import configs_of, options
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.quants import Quant


def quant_tradeoff(study: Study, config: RunConfig) -> tuple[Note, ...]:
    """Return notes on the quantization trade-off, or () without one."""
    # `max_loss` is exceeded, or the most faithful quantization would have taken more. No note for
    # that one, and none if it is unusual on such devices.
    loss = weighed_loss(study, config)
    if not loss or beyond(study, config):
        return loss
    if not config.verdict.all_on_gpu or not config.machine.is_uniform:
        return ()
    bought = _bought(study, config, study.quants[0][0])
    return () if bought is None else (*loss, bought)


def weighed_loss(study: Study, config: RunConfig) -> tuple[Note, ...]:
    """Return a note on the loss of the chosen quantization next to the most faithful one.

    If the loss exceeds `max_loss`, the notes say that; () if it is the most faithful or does not
    run.
    """
    if not config.verdict.runs:
        return ()
    if beyond(study, config):
        return Note(f"beyond_{study.requirements.max_loss}"), _nothing_less(study)
    quant, faithful = config.estimate.quant, study.quants[0][0]
    if quant.slug == faithful.slug:
        return ()
    word = quality_at(config.estimate).word
    return (Note(f"weighed_{word}", quant=quant.name, before=faithful.name),)


def _nothing_less(study: Study) -> Note:
    # Nothing that fits loses less; of a quantized checkpoint, nothing that can be made of it.
    profile = study.profile
    if profile.quantization is None or profile.format == "gguf":
        return Note("beyond_everything")
    if not profile.base_models:
        return Note("beyond_stored")
    return Note("beyond_stored_of", repo_id=profile.base_models[0])


def shared_tradeoff(study: Study, configs: Sequence[RunConfig]) -> tuple[Note, ...]:
    """Return notes on the quantization that all fitting ways share, () without a common one."""
    fitting = [config for config in configs if config.verdict.all_on_gpu]
    shared = len({config.estimate.quant.slug for config in fitting}) == 1
    return weighed_loss(study, fitting[0]) if shared else ()


def _bought(study: Study, config: RunConfig, faithful: Quant) -> Note | None:
    # The gain over the most faithful way, the most important first.
    before = faithful.name
    other = _usual(study, config.machine, faithful)
    if other is None:
        counts = (n for n in board_counts(config.gpu) if n > config.boards)
        machines = (Machine.with_boards(config.gpu, boards) for boards in counts)
        larger = next((m.boards for m in machines if _usual(study, m, faithful)), None)
        if larger is None:
            usual = options(study, config.machine, usual=True)
            runs = any(option.quant.slug == faithful.slug for option in usual)
            return Note("weighed_fit", before=before) if runs else None
        return Note("weighed_boards", count=config.boards, before=larger, quant=before)
    if other.verdict is Verdict.TIGHT or other.spare_share < SPARE_SHARE:
        return Note("weighed_room", before=before)
    ours, theirs = user_speed(study, config), user_speed(study, other)
    if not ours or not theirs or theirs >= min(ours, study.requirements.comfortable):
        return None
    if study.workload.concurrency > 1:  # each user's speed depends on the prompts read in between
        return Note("weighed_share", before=before, percent=round(100 * (1 - theirs / ours)))
    fields = {"tokens": significant(ours), "slower": significant(theirs)}
    return Note("weighed_speed", before=before, engine=other.estimate.engine.name, **fields)


def _usual(study: Study, machine: Machine, quant: Quant) -> RunConfig | None:
    # None if the machine does not hold it in a usual way.
    for option in options(study, machine, usual=True):
        if option.quant.slug == quant.slug:
            found = configs_of(study, machine, option, whole=True)
            return next((config for config in found if config.verdict.all_on_gpu), None)
    return None
