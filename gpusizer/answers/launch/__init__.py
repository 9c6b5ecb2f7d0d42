"""Commands that start a chosen plan; each engine has a module with a function of one signature.

Flags repeat the settings that were sized; names from the Hub are quoted. ExLlama has no server of
its own and gets no command, as does a plan whose weights nobody has made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpusizer.answers.launch import (
    llama_cpp,
    mlx,
    ollama,
    sglang,
    snippets,
    tensorrt_llm,
    tgi,
    vllm,
)
from gpusizer.answers.launch.base import LaunchCommand, LaunchPlan
from gpusizer.core.messages import Note
from gpusizer.fit.way import Way
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
    "transformers": snippets.transformers,
    "diffusers": snippets.diffusers,
}
"""Engine slug -> launcher."""


_UNTIL_THEN = ("launch_needs_gguf", "launch_needs_repository")
"""Notes of commands that load other weights than those sized, or none: they are not shown."""


def launch_command(profile: ModelProfile, way: Way, workload: Workload) -> LaunchCommand:
    """Return the command that runs the model in that way; without text, and with the reason, where
    none does.

    `workload` is the resolved workload of the report; where a part of the model lies in system
    memory the command leaves it there. Raises InvalidModelId for a name that the
    Hub cannot have.
    """
    engine = way.estimate.engine
    launcher = LAUNCHERS.get(engine.slug)
    if launcher is None:
        return LaunchCommand(
            engine.slug, "", "bash", (Note("launch_no_server", engine=engine.name),)
        )
    command = launcher(LaunchPlan.of(profile, way, workload))
    missing = tuple(note for note in command.notes if note.code in _UNTIL_THEN)
    return replace(command, text="", notes=missing) if missing else command


__all__ = ["LAUNCHERS", "LaunchCommand", "LaunchPlan", "launch_command"]
