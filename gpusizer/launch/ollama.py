"""Commands for `ollama`.

Source of the variables: envconfig/config.go, 0.11 to 0.30; of the parameters: docs/modelfile.
Context and cache type are settings of the server; the number of layers on the GPU (`num_gpu`) is a
setting of a model.
"""

from __future__ import annotations

import shlex

from gpusizer.core.messages import Note
from gpusizer.launch.base import LaunchCommand, LaunchPlan
from gpusizer.launch.gguf_files import gguf_files


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return commands that start the server with its variables, then the model.

    The server must not be running already.
    """
    load = plan.workload
    files = gguf_files(plan)
    model = f"hf.co/{files.repo}:{plan.gguf_tag}" if files.repo else f"./{files.file}"
    cache, untold = plan.cached_as()
    variables = [
        f"OLLAMA_CONTEXT_LENGTH={load.context}",
        f"OLLAMA_NUM_PARALLEL={load.concurrency}",
        f"OLLAMA_FLASH_ATTENTION={int(load.flash_attention)}",
    ]
    variables += [f"OLLAMA_KV_CACHE_TYPE={cache}"] if cache else []
    if load.cpu_moe:
        untold += (Note("launch_no_flag", engine=plan.engine, setting="cpu_moe"),)
    lines = [*files.made_by, f"{' '.join(variables)} ollama serve &", *_run(plan, model)]
    return plan.runs("\n".join(lines), *files.notes, *untold, *plan.one_node)


def _run(plan: LaunchPlan, model: str) -> list[str]:
    # A file that was made here, and layers in system memory, need a Modelfile.
    layers = plan.workload.gpu_layers
    made = model.startswith("./")
    if layers is None and not made:
        return [shlex.join(("ollama", "run", model))]
    settings = [f"FROM {model}", *([] if layers is None else [f"PARAMETER num_gpu {layers}"])]
    name = plan.repo_id.rpartition("/")[2].lower()
    return [
        shlex.join(("printf", "%s\\n", *settings)) + " > Modelfile",
        shlex.join(("ollama", "create", name, "-f", "Modelfile")),
        shlex.join(("ollama", "run", name)),
    ]
