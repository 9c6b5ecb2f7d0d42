"""Commands that start a chosen plan; each engine has a module with a function of one signature.

Flags repeat the settings that were sized; names from the Hub are quoted. ExLlama has no server of
its own and gets no command, nor does a plan whose weights do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpusizer.core.messages import Note
from gpusizer.fit.run_config import RunConfig
from gpusizer.launch import (
    llama_cpp,
    mlx,
    ollama,
    sglang,
    snippets,
    tensorrt_llm,
    tgi,
    vllm,
)
from gpusizer.launch.base import LaunchCommand, LaunchPlan
from gpusizer.launch.quantizers import folder_of, quantizing_command
from gpusizer.memory.quantizing import quantizing
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

# Engine slug -> launcher.
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


_END = "MADE"  # the word that ends a script within a command
_PYTHON = "quantizing/bin/python"
# The tool has an environment of its own: it asks for other releases than engines do.
_APART = ("python -m venv quantizing", "quantizing/bin/pip install llmcompressor")
# Notes of commands that load other weights than those sized, or none: they are not shown.
_UNTIL_THEN = ("launch_needs_gguf", "launch_needs_repository")


def launch_command(profile: ModelProfile, config: RunConfig, workload: Workload) -> LaunchCommand:
    """Return the command that runs the model in that way, or one without text and with a reason.

    `workload` is the resolved workload of the report; the command keeps in system memory the part
    of the model that lies there. Raise InvalidModelId for a name that the Hub cannot have.
    """
    engine = config.estimate.engine
    launcher = LAUNCHERS.get(engine.slug)
    if launcher is None:
        return LaunchCommand(
            engine.slug, "", "bash", (Note("launch_no_server", engine=engine.name),)
        )
    plan = LaunchPlan.from_config(profile, config, workload)
    command = launcher(plan)
    missing = tuple(note for note in command.notes if note.code in _UNTIL_THEN)
    if not missing:
        return command
    return _made_first(profile, config, plan) or replace(command, text="", notes=missing)


def _made_first(profile: ModelProfile, config: RunConfig, plan: LaunchPlan) -> LaunchCommand | None:
    # A script makes the weights before the command, in a folder beside; None if no script makes
    # them, and for engines that do not load them there.
    if not config.estimate.engine.abilities.loads_made:
        return None
    made = quantizing(profile, config.estimate.quant)
    script = None if made is None else quantizing_command(profile, made)
    if made is None or script is None or script.language != "python":
        return None
    folder = folder_of(profile, made)
    served = LAUNCHERS[plan.engine](
        replace(plan, repo_id=f"./{folder}", revision=None, stored=True, quantized=True)
    )
    lines = (*_APART, f"{_PYTHON} - <<'{_END}'", script.text, _END, served.text)
    note = Note(
        "launch_makes_quantization",
        repo_id=profile.repo_id,
        quant=config.estimate.quant.name,
        tool=made.tool,
        folder=folder,
    )
    return replace(served, text="\n".join(lines), notes=(note, *served.notes))


__all__ = ["LAUNCHERS", "LaunchCommand", "LaunchPlan", "launch_command"]
