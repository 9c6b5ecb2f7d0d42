"""Whether a stated amount of system memory holds what does not fit on the GPUs of a machine."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.messages import Note
from gpusizer.fit.card_statements import statements_on
from gpusizer.fit.compatibility import runs_engine
from gpusizer.fit.fit import OFFLOAD_ENGINES, Fit, Fitter, Verdict
from gpusizer.fit.mixed_gpus.from_disk import disk_notes
from gpusizer.fit.mixed_gpus.machine import Rig
from gpusizer.fit.mixed_gpus.rig_plan import RigPlan, plan_rig
from gpusizer.fit.offload import offload_notes
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.engines import ENGINES


def in_host_memory(fitter: Fitter, ranked: Ranked, rig: Rig) -> Ranked:
    """The place of a named GPU as it is in that machine.

    What fits on the GPUs stays as it is, and so does what llama.cpp does not run. Else the verdict
    is that of the machine: a part in system memory, read from the disk, or no.
    """
    plan = None if ranked.fit.verdict.all_on_gpu else _plan(fitter, rig)
    if plan is None or plan.verdict.all_on_gpu:
        return ranked
    if plan.verdict is Verdict.DOES_NOT_FIT and ranked.fit.verdict is Verdict.DOES_NOT_FIT:
        return ranked
    gpu, boards, whole = ranked.fit.gpu, ranked.fit.count, plan.estimate
    estimate = fitter.estimate_on(gpu, boards, whole.quant, whole.native, whole.engine)
    if estimate is None:
        return ranked
    fit = replace(fitter.fit(gpu, boards, estimate), verdict=plan.verdict)
    return replace(ranked, fit=fit, speeds=None, reasons=_reasons(fitter, fit, plan))


def _plan(fitter: Fitter, rig: Rig) -> RigPlan | None:
    """The plan for the quantizations that llama.cpp or Ollama runs, None where there is none."""
    engine = fitter.workload.engine
    if engine is not None and engine not in OFFLOAD_ENGINES:
        return None
    pairs = [
        pair
        for pair in fitter.quants
        if any(engine.slug in OFFLOAD_ENGINES for engine in fitter.engines(pair[0]))
    ]
    if not pairs or fitter.profile.architecture is None or not _runs(rig):
        return None
    return plan_rig(
        Fitter(fitter.profile, fitter.workload, pairs, fitter.budget), rig, explore=False
    )


def _runs(rig: Rig) -> bool:
    """Whether a build of llama.cpp drives the cards."""
    return all(runs_engine(ENGINES["llama.cpp"], gpu) for gpu in rig.gpus)


def _reasons(fitter: Fitter, fit: Fit, plan: RigPlan) -> tuple[Note, ...]:
    estimate = fit.estimate
    verdict = Note(
        f"verdict_{fit.verdict.value}",
        quant=estimate.quant.name,
        engine=estimate.engine.name,
        headroom_bytes=abs(fit.headroom_bytes),
        count=fit.count,
    )
    host = plan.arranged.host.total.likely
    if fit.verdict is Verdict.DOES_NOT_FIT:
        return (verdict, Note("rig_needs_ram", ram_bytes=host), *statements_on(fit))
    parts = offload_notes(fitter, fit.gpu, estimate)
    return (verdict, *parts, *disk_notes(plan.disk), *statements_on(fit))
