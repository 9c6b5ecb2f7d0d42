"""Commands that start a chosen plan; each engine has a module with a function of one signature.

Flags repeat the settings that were sized; names from the Hub are quoted. ExLlama has no server of
its own and gets no command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpusizer.answers.launch import (
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
from gpusizer.answers.launch.base import LaunchCommand, LaunchPlan
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Fit, Verdict
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

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
    """Return the command that runs a fit, or None for an engine without a server.

    `workload` is the resolved workload of the report. Raises InvalidModelId for a name that the
    Hub cannot have.
    """
    launcher = LAUNCHERS.get(fit.estimate.engine.slug)
    return launcher(LaunchPlan.of(profile, fit, workload)) if launcher else None


def launch_ranked(
    profile: ModelProfile, ranked: Ranked, workload: Workload
) -> LaunchCommand | None:
    """Return the command for a place in a ranking.

    Where the whole model does not fit and the ranking names what does, the command leaves that
    part of the model in system memory. Raises as `launch_command` does.
    """
    fit = ranked.fit
    partly = fit.verdict in (Verdict.OFFLOAD, Verdict.FROM_DISK)
    if partly and workload.gpu_layers is None and not workload.cpu_moe:
        workload = _offloaded(workload, ranked.reasons)
    return launch_command(profile, fit, workload)


def _offloaded(workload: Workload, reasons: Sequence[Note]) -> Workload:
    """Return the workload with routed experts in system memory, which costs less speed, where that
    is enough, else with whole layers there."""
    notes = {note.code: note.fields for note in reasons}
    if "experts_in_memory" in notes:
        return replace(workload, cpu_moe=True)
    if "layers_that_fit" in notes:
        return replace(workload, gpu_layers=int(notes["layers_that_fit"]["layers"]))
    return workload


__all__ = ["LAUNCHERS", "LaunchCommand", "LaunchPlan", "launch_command", "launch_ranked"]
