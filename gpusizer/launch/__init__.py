"""Ready commands for a chosen plan: one small module per engine, one interface.

Flags say what was computed; names come from strangers and are quoted. ExLlama has no server of its
own and gets no command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpusizer.fit import Fit, Verdict
from gpusizer.launch import (
    diffusers,
    llama_cpp,
    mlx,
    ollama,
    sglang,
    tensorrt_llm,
    tgi,
    transformers,
    vllm,
)
from gpusizer.launch.base import LaunchCommand, LaunchPlan
from gpusizer.notes import Note
from gpusizer.profile import ModelProfile
from gpusizer.ranking import Ranked
from gpusizer.workload import Workload

LAUNCHERS: Mapping[str, Callable[[LaunchPlan], LaunchCommand]] = {
    "vllm": vllm.launch,
    "sglang": sglang.launch,
    "tensorrt-llm": tensorrt_llm.launch,
    "tgi": tgi.launch,
    "llama.cpp": llama_cpp.launch,
    "ollama": ollama.launch,
    "mlx": mlx.launch,
    "transformers": transformers.launch,
    "diffusers": diffusers.launch,
}
"""Engine slug -> launcher."""


def launch_command(profile: ModelProfile, fit: Fit, workload: Workload) -> LaunchCommand | None:
    """The command that runs a fit; None for an engine without one.

    `workload` is the report's resolved one. Raises InvalidModelId for an impossible name.
    """
    launcher = LAUNCHERS.get(fit.estimate.engine.slug)
    return launcher(LaunchPlan.of(profile, fit, workload)) if launcher else None


def launch_ranked(
    profile: ModelProfile, ranked: Ranked, workload: Workload
) -> LaunchCommand | None:
    """The command for a place in a ranking: with part of the model in system memory where the
    whole does not fit and the ranking says what does. Raises as `launch_command` does.
    """
    fit = ranked.fit
    if fit.verdict is Verdict.OFFLOAD and workload.gpu_layers is None and not workload.cpu_moe:
        workload = _offloaded(workload, ranked.reasons)
    return launch_command(profile, fit, workload)


def _offloaded(workload: Workload, reasons: Sequence[Note]) -> Workload:
    """Experts in system memory where that is enough, as it costs less speed; else layers."""
    notes = {note.code: note.fields for note in reasons}
    if "experts_in_memory" in notes:
        return replace(workload, cpu_moe=True)
    if "layers_that_fit" in notes:
        return replace(workload, gpu_layers=int(notes["layers_that_fit"]["layers"]))
    return workload


__all__ = ["LAUNCHERS", "LaunchCommand", "LaunchPlan", "launch_command", "launch_ranked"]
