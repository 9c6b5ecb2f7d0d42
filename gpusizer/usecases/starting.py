"""Starting: the line that starts the model in the way that a report concludes."""

from __future__ import annotations

from gpusizer.advice.conclusion.fit import best_of
from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import GpusizerError
from gpusizer.fit.run_config import RunConfig
from gpusizer.launch.deployment import cheapest_deployment
from gpusizer.launch.start import Start, start_of
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.report import Report


def start_of_report(report: Report) -> Start | None:
    """Return how to start what a report concludes: its machine, the best of named GPUs, the first
    place, or one server of a plan. None if nothing of it runs."""
    if report.serving_plan is not None:
        plan = cheapest_deployment(report.serving_plan, report.profile, report.workload)
        return None if plan is None else Start(plan.replica)
    place = concluded_place(report)
    return None if place is None else start_in(report.profile, place.fit.config, report.workload)


def concluded_place(report: Report) -> Ranked | None:
    """Return the place that the conclusion is about, None without one and for a plan."""
    if report.rig is not None or report.serving_plan is not None or not report.ranking:
        return report.rig
    is_named = report.ranking[0].largest is not None
    return best_of(report.ranking) if is_named else report.ranking[0]


def start_in(profile: ModelProfile, config: RunConfig, workload: Workload) -> Start | None:
    """Return how to start a model in a way. None if it does not run, and for names that the Hub
    cannot have, so that no command may contain them."""
    if not config.verdict.runs:
        return None
    try:
        return start_of(profile, config, workload, for_task=True)
    except GpusizerError:
        return None
