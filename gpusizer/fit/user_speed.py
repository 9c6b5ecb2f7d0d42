"""The tokens/s that each user of a workload sees, one number for each way to run a model."""

from __future__ import annotations

from gpusizer.fit.one_user import one_user_rate
from gpusizer.fit.speed import ModelFacts, Work, tokens_per_second
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way
from gpusizer.fit.ways import keeps_part_in_memory
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
    """What a step of one of the study's estimates reads and computes, computed once; None where
    nothing is generated or a part is left in system memory."""
    key = ("work", id(estimate))
    if key not in study.kept:
        if ("facts",) not in study.kept:
            study.kept["facts",] = ModelFacts.of(study.profile, study.workload)
        facts: ModelFacts | None = study.kept["facts",]
        in_part = keeps_part_in_memory(study.profile, study.workload, estimate)
        study.kept[key] = None if facts is None or in_part else Work.of(facts, estimate)
    found: Work | None = study.kept[key]
    return found
