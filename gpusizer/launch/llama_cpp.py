"""Commands for `llama-server`.

Source of the options: tools/server/README.md of ggml-org/llama.cpp, from b6325 on
(`--flash-attn on|off|auto`, August 2025).
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusizer.core.messages import Note
from gpusizer.fit.run_config import RunConfig
from gpusizer.launch.base import Flag, LaunchCommand, LaunchPlan, Options, command
from gpusizer.launch.gguf_files import GgufFiles, draft_file, gguf_files
from gpusizer.memory.kv_cache import llama_cpp_types
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import DraftMethod

_ALL_LAYERS = "all"
_SIXTEEN_BITS = ("f16", "f16")
_SPEC_TYPES: Mapping[DraftMethod, str] = {
    "draft_model": "draft-simple",
    "eagle3": "draft-eagle3",
    "dflash": "draft-dflash",
}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8080."""
    load = plan.workload
    files = gguf_files(plan)
    types = llama_cpp_types(load.kv_dtype)
    keys, values = types if types and types != _SIXTEEN_BITS else ("", "")
    lacking = Note("launch_cache_type", engine=plan.engine, kv_dtype=load.kv_dtype)
    untold = () if types else (lacking,)
    speculation, made, unconverted = _speculation(plan)
    # `--ctx-size` counts the tokens of all slots together; with `--parallel` each slot gets an
    # equal part.
    options: Options = {
        "--mmproj": files.projector,
        "--ctx-size": plan.total_context,
        "--parallel": load.concurrency,
        "--gpu-layers": _ALL_LAYERS if load.gpu_layers is None else str(load.gpu_layers),
        "--cpu-moe": load.cpu_moe,
        "--n-cpu-moe": plan.cpu_experts,
        "--tensor-split": ",".join(map(str, plan.tensor_split)),
        "--no-mmproj": load.text_only,
        "--embeddings": plan.embeds,
        "--split-mode": "layer" if plan.split.gpus > 1 else "",
        "--flash-attn": "on" if load.flash_attention else "off",
        **speculation,
        "--spec-draft-n-max": load.draft_tokens,
        "--cache-type-k": keys,
        "--cache-type-v": values,
        "--batch-size": load.batch_size,
        "--ubatch-size": load.ubatch_size,
    }
    served = command(("llama-server", *source_of(plan, files)), options)
    lines = (*files.made_by, *made, served)
    return plan.runs("\n".join(lines), *files.notes, *unconverted, *untold, *plan.one_node)


def source_of(plan: LaunchPlan, files: GgufFiles) -> Flag:
    """Return the option of llama.cpp's programs that names the file to load."""
    if files.repo:
        return ("-hf", f"{files.repo}:{plan.gguf_tag}")
    return ("-m", files.file)


def _speculation(plan: LaunchPlan) -> tuple[Options, tuple[str, ...], tuple[Note, ...]]:
    # Options of the draft, all of it on the GPUs; a command for its file if its repository has
    # none; a note if no command makes it.
    draft = plan.draft
    if draft is None:
        return {"--spec-type": plan.workload.draft_tokens and "draft-mtp"}, (), ()
    made: tuple[str, ...] = ()
    source: Flag = ("--spec-draft-hf", draft.repo_id)
    if draft.format != "gguf":
        if draft.method != "draft_model":  # the converter knows whole models alone
            return {}, (), (Note("launch_needs_gguf", repo_id=draft.repo_id, quant="F16"),)
        line, file = draft_file(draft.repo_id)
        made, source = (line,), ("--model-draft", file)
    elif draft.variant:
        source = ("--spec-draft-hf", f"{draft.repo_id}:{draft.variant}")
    guessed = {"--spec-draft-ngl": _ALL_LAYERS, "--spec-type": _SPEC_TYPES[draft.method]}
    return {**dict([source]), **guessed}, made, ()


def machine_flags(workload: Workload, config: RunConfig) -> tuple[str, ...]:
    """Return llama-server's short switches for a way on a machine, () for other engines."""
    if not config.estimate.engine.abilities.offloads:
        return ()
    layers = _ALL_LAYERS if workload.gpu_layers is None else str(workload.gpu_layers)
    split, experts = "", 0
    if config.arranged is not None:
        how = config.arranged.how
        layers, experts = str(how.gpu_layers), how.cpu_experts
        if how.gpu_layers and len(config.machine.gpus) > 1 and not config.arranged.default:
            split = ",".join(map(str, how.split))
    types = llama_cpp_types(workload.kv_dtype)
    keys, values = types if types and types != _SIXTEEN_BITS else ("", "")
    # -c is for all sequences together.
    switches = {
        "-c": workload.context * workload.concurrency,
        "-np": workload.concurrency if workload.concurrency > 1 else 0,
        "-ngl": layers,
        "-ts": split,
        "--n-cpu-moe": experts,
        "-ctk": keys,
        "-ctv": values,
        "-fa": "" if workload.flash_attention else "off",
        "-b": workload.batch_size,
        "-ub": workload.ubatch_size,
    }
    return tuple(word for name, value in switches.items() if value for word in (name, str(value)))
