"""The speed of a way to run a model: of each user of the workload, one number for each way; of one
user alone and of one prompt, whatever of the model lies in system memory; and what stands behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.fit.part_speed import part_decode_rate, part_prefill_rate
from gpusizer.fit.placement.device_shares import Arrangement, Load
from gpusizer.fit.speed import (
    ModelFacts,
    Rate,
    Work,
    decode_bands,
    is_measured,
    serving_bands,
    tokens_per_second,
)
from gpusizer.fit.speed.decode import step_seconds
from gpusizer.fit.speed.prefill import prompt_token_seconds
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way
from gpusizer.fit.ways import keeps_part_in_memory, load_of
from gpusizer.memory.estimate import MemoryEstimate


def user_speed(study: Study, way: Way) -> float | None:
    """Likely tokens/s of each user, None when unknown; of one user where layers lie on unlike
    devices."""
    known = study.speeds.get(id(way))
    if known is None:
        known = study.speeds[id(way)] = way, _user_speed(study, way)
    return known[1]


def _user_speed(study: Study, way: Way) -> float | None:
    if way.arranged is not None:
        rate = one_user_rate(study, way)
        return None if rate is None else rate.likely
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    work = work_at(study, way.estimate)
    return None if work is None else tokens_per_second(work, way.gpu)


def work_at(study: Study, estimate: MemoryEstimate) -> Work | None:
    """What a step of an estimate reads and computes, computed once; None where nothing is generated
    or a part is left in system memory."""
    key = ("work", id(estimate))
    if key not in study.kept:
        if ("facts",) not in study.kept:
            study.kept["facts",] = ModelFacts.of(study.profile, study.workload)
        facts: ModelFacts | None = study.kept["facts",]
        in_part = keeps_part_in_memory(study.profile, study.workload, estimate)
        work = None if facts is None or in_part else Work.of(facts, estimate)
        study.kept[key] = estimate, work  # held, so that no other estimate takes its identity over
    found: Work | None = study.kept[key][1]
    return found


Placed = tuple[Load, Arrangement]
"""A model, and where its layers lie."""


def one_user_rate(study: Study, way: Way) -> Rate | None:
    """Tokens/s of one user alone: where layers lie on unlike devices or in system memory, the times
    that each place takes for its own added up.

    None where the model does not run, and where the speed of a device is not known.
    """
    if not way.verdict.runs:
        return None
    placed = placed_layers(study, way)
    if placed is not None:
        return part_decode_rate(*placed)
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    work = work_at(study, way.estimate)
    step = None if work is None else step_seconds(work, way.gpu, 1)
    if work is None or step is None:
        return None
    return Rate.banded(1 / step, decode_bands(work, way.gpu)[0])


def one_prompt_rate(study: Study, way: Way) -> Rate | None:
    """Prompt tokens/s of one prompt likewise; None where the disk is read too."""
    if not way.verdict.in_memory:
        return None
    placed = placed_layers(study, way)
    if placed is not None:
        return part_prefill_rate(*placed)
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    work = work_at(study, way.estimate)
    token = None if work is None else prompt_token_seconds(work, way.gpu)
    if work is None or token is None:
        return None
    return Rate.banded(1 / token, serving_bands(work, way.gpu)[1])


def placed_layers(study: Study, way: Way) -> Placed | None:
    """Where llama.cpp puts each layer; None where devices alike divide the whole model, and for
    what has no layers."""
    estimate, arch, workload = way.estimate, study.profile.architecture, study.workload
    in_part = keeps_part_in_memory(study.profile, workload, estimate)
    if arch is None or (way.arranged is None and not in_part):
        return None
    if way.arranged is not None and way.machine.is_uniform and way.verdict.all_on_gpu:
        return None
    load, machine = load_of(study, way.machine, estimate), way.machine
    if way.arranged is not None:
        return load, way.arranged.how
    layers = arch.layers + 1 if workload.gpu_layers is None else workload.gpu_layers
    held_back = arch.layers if workload.cpu_moe and arch.experts else 0
    equal = (1,) * max(1, len(machine.gpus))
    return load, Arrangement(equal, min(layers, arch.layers + 1), held_back)


@dataclass(frozen=True, slots=True)
class SpeedEvidence:
    """The evidence of a speed.

    Attributes:
        measured: the band of this kind of engine on this class of card was measured, not taken
            over from other cards. Bands that are measured stand on runs of several sources.
        surely_enough: even the low end of the band is what the reader asks for, or nothing is.
    """

    measured: bool
    surely_enough: bool

    @property
    def holds(self) -> bool:
        """Whether the speed was measured, and even the low end is what the reader asks for."""
        return self.measured and self.surely_enough


def speed_evidence(study: Study, way: Way, speed: float | None) -> SpeedEvidence | None:
    """What stands behind the tokens/s of each user: nothing where these are unknown. None where no
    text is generated, or layers lie on unlike devices."""
    work = work_at(study, way.estimate) if way.arranged is None else None
    if work is None:
        return None
    asked = study.demands.min_tok_s
    if speed is None:
        return SpeedEvidence(measured=False, surely_enough=asked is None)
    enough = asked is None or speed * decode_bands(work, way.gpu)[1].low >= asked
    return SpeedEvidence(is_measured(work, way.gpu), enough)
