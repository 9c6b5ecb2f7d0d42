"""What stands beside an estimate so that it can be checked: published runs, and a command."""

from __future__ import annotations

from gpusizer.answers.json_shapes import Json
from gpusizer.answers.launch.benchmark import Benchmark, benchmark
from gpusizer.answers.published_runs import runs_on
from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile


def evidence_json(profile: ModelProfile, item: Ranked, workload: Workload) -> Json:
    """The contract's `measured` of a place; `benchmark` only for GPUs named in the request."""
    evidence: Json = {"measured": runs_on(profile, item.fit)}
    if item.largest is not None:
        evidence["benchmark"] = benchmark_of(profile, item, workload)
    return evidence


def benchmark_of(profile: ModelProfile, item: Ranked, workload: Workload) -> Benchmark | None:
    """The command that measures a place; None also for names that the Hub cannot have."""
    try:
        return benchmark(profile, item, workload)
    except InvalidRequest:
        return None
