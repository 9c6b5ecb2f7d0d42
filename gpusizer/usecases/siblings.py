"""Siblings: a larger model of the same series that fits the same memory in fewer bits.

It is offered if it surely fits on the same devices, as fast as requested or as one reads, within
the allowed loss, and if its size gains more than its bits lose (`quality.gains_more`). Only models
that come with gpusizer are considered.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import machine_name, short_name
from gpusizer.advice.ranking import Ranked, describe
from gpusizer.core.errors import InvalidRequest, LimitsExceeded
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.units import significant
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import choose
from gpusizer.fit.preference_key import beyond
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.fit.user_speed import user_speed
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.quality import LEAST_BITS, gains_more
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request_fields import ALL_QUANTS

_SECONDS = 0.5  # processor time for siblings, on top of the answer's


@dataclass(frozen=True, slots=True)
class Sibling:
    """A larger sibling, and its run on the devices of the answer."""

    profile: ModelProfile
    place: Ranked
    tokens_per_second: float

    @property
    def notes(self) -> tuple[Note, ...]:
        """A sentence on its fit, its loss and its speed."""
        estimate = self.place.fit.estimate
        note = Note(
            "answer_sibling",
            model=short_name(self.profile),
            gpus=machine_name(self.place.fit.machine),
            quant=estimate.quant.name,
            loss=quality_at(estimate).word.value,
            tokens=significant(self.tokens_per_second),
        )
        return (note,)


def larger_sibling(
    question: Question, place: Ranked, library: ModelLibrary | None
) -> Sibling | None:
    """Return the largest sibling to offer with a place of the answer, or None.

    None also if the request names quantizations or a draft model, which are about this model.
    """
    is_open = ALL_QUANTS in question.wanted and question.profile.draft is None
    if library is None or not is_open or not place.fit.verdict.all_on_gpu:
        return None
    try:
        budget = TimeBudget(_SECONDS)
        with budget.paused():
            siblings = list(library.larger_siblings(question.profile))
        for profile in siblings:
            found = _on_machine(question, profile, place.fit.machine, budget)
            if found is not None:
                return found
    except LimitsExceeded:  # an offer is no reason to wait longer
        return None
    return None


def _on_machine(
    question: Question, profile: ModelProfile, machine: Machine, budget: TimeBudget
) -> Sibling | None:
    # None if the sibling is not to be offered there.
    memory_bytes = sum(gpu.device_memory_bytes for gpu in machine.gpus)
    if profile.parameters * LEAST_BITS / 8 > memory_bytes:
        return None
    try:
        study = question.of_another(profile, budget)
    except InvalidRequest:  # its context is shorter, or no engine has its cache
        return None
    if study.workload.context != question.study.workload.context:
        return None
    config = choose(study, [machine], whole=True)
    if config is None or config.verdict is not Verdict.FITS or beyond(study, config):
        return None
    speed = user_speed(study, config)
    if speed is None or speed < (study.requirements.min_tok_s or READING_SPEED):
        return None
    bits, quality = config.estimate.quant.bits, quality_at(config.estimate)
    if not gains_more(profile.parameters, question.profile.parameters, bits, quality):
        return None
    return Sibling(profile, describe(study, config, rank=1), speed)
