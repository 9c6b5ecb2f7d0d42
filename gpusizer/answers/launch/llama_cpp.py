"""Commands for `llama-server`.

Source of the options: tools/server/README.md of ggml-org/llama.cpp, from b6325 on
(`--flash-attn on|off|auto`, August 2025). `--ctx-size` counts the tokens of all slots together;
with `--parallel` each slot gets an equal part.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusizer.answers.launch.base import (
    Flag,
    LaunchCommand,
    LaunchPlan,
    command,
    number,
    one_node,
    only,
)
from gpusizer.answers.launch.gguf_files import GgufFiles, draft_file, gguf_files
from gpusizer.core.messages import Note
from gpusizer.memory.kv_cache import llama_cpp_types
from gpusizer.model.profile import DraftMethod

_ALL_LAYERS = "all"
_SPEC_TYPES: Mapping[DraftMethod, str] = {
    "draft_model": "draft-simple",
    "eagle3": "draft-eagle3",
    "dflash": "draft-dflash",
}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8080."""
    load = plan.workload
    files = gguf_files(plan)
    cache, untold = _cache(plan)
    speculation, made, unconverted = _speculation(plan)
    layers = _ALL_LAYERS if load.gpu_layers is None else str(load.gpu_layers)
    flags = [
        *only(files.projector, "--mmproj", files.projector),
        ("--ctx-size", str(plan.total_context)),
        ("--parallel", str(load.concurrency)),
        ("--gpu-layers", layers),
        *only(load.cpu_moe, "--cpu-moe"),
        *number("--n-cpu-moe", plan.cpu_experts or None),
        *only(plan.tensor_split, "--tensor-split", ",".join(map(str, plan.tensor_split))),
        *only(load.text_only, "--no-mmproj"),
        *only(plan.split.gpus > 1, "--split-mode", "layer"),
        ("--flash-attn", "on" if load.flash_attention else "off"),
        *speculation,
        *number("--spec-draft-n-max", load.draft_tokens or None),
        *cache,
        *number("--batch-size", load.batch_size),
        *number("--ubatch-size", load.ubatch_size),
    ]
    served = command(("llama-server", *source_of(plan, files)), flags)
    lines = (*files.made_by, *made, served)
    notes = (*files.notes, *unconverted, *untold, *one_node(plan))
    return LaunchCommand(plan.engine, "\n".join(lines), "bash", notes)


def source_of(plan: LaunchPlan, files: GgufFiles) -> Flag:
    """Return the option of llama.cpp's programs that names what they load."""
    if files.repo:
        return ("-hf", f"{files.repo}:{plan.gguf_tag}")
    return ("-m", files.file)


def _speculation(plan: LaunchPlan) -> tuple[list[Flag], tuple[str, ...], tuple[Note, ...]]:
    """Return who guesses tokens, on the GPUs all of it, what makes the draft's file where its
    repository holds none, and a note where nothing does."""
    draft = plan.draft
    if draft is None:
        return only(plan.workload.draft_tokens, "--spec-type", "draft-mtp"), (), ()
    made: tuple[str, ...] = ()
    source: Flag = ("--spec-draft-hf", draft.repo_id)
    if draft.format != "gguf":
        if draft.method != "draft_model":  # the converter knows whole models alone
            return [], (), (Note("launch_needs_gguf", repo_id=draft.repo_id, quant="F16"),)
        line, file = draft_file(draft.repo_id)
        made, source = (line,), ("--model-draft", file)
    elif draft.variant:
        source = ("--spec-draft-hf", f"{draft.repo_id}:{draft.variant}")
    flags: list[Flag] = [
        source,
        ("--spec-draft-ngl", _ALL_LAYERS),
        ("--spec-type", _SPEC_TYPES[draft.method]),
    ]
    return flags, made, ()


def _cache(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    kind = plan.workload.kv_dtype
    types = llama_cpp_types(kind)
    if types is None:
        return [], (Note("launch_cache_type", engine=plan.engine, kv_dtype=kind),)
    if types == ("f16", "f16"):
        return [], ()
    return [("--cache-type-k", types[0]), ("--cache-type-v", types[1])], ()
