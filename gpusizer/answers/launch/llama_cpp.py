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
    no_revision,
    number,
    one_node,
    only,
)
from gpusizer.core.messages import Note
from gpusizer.memory.kv_cache import llama_cpp_types
from gpusizer.model.profile import DraftMethod

GGUF_REPOSITORY = "OWNER/NAME-GGUF"
"""Placeholder in a command for a repository that the reader has to choose."""

DRAFT_REPOSITORY = "OWNER/DRAFT-GGUF"
"""The same for that of a draft model."""

_ALL_LAYERS = "all"
_SPEC_TYPES: Mapping[DraftMethod, str] = {
    "draft_model": "draft-simple",
    "eagle3": "draft-eagle3",
    "dflash": "draft-dflash",
}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8080."""
    load = plan.workload
    repo, notes = gguf_repository(plan)
    cache, untold = _cache(plan)
    speculation, unconverted = _speculation(plan)
    layers = _ALL_LAYERS if load.gpu_layers is None else str(load.gpu_layers)
    flags = [
        ("--ctx-size", str(plan.total_context)),
        ("--parallel", str(load.concurrency)),
        ("--gpu-layers", layers),
        *only(load.cpu_moe, "--cpu-moe"),
        *only(load.text_only, "--no-mmproj"),
        *only(plan.split.gpus > 1, "--split-mode", "layer"),
        ("--flash-attn", "on" if load.flash_attention else "off"),
        *speculation,
        *number("--spec-draft-n-max", load.draft_tokens or None),
        *cache,
        *number("--batch-size", load.batch_size),
        *number("--ubatch-size", load.ubatch_size),
    ]
    text = command(("llama-server", "-hf", f"{repo}:{plan.gguf_tag}"), flags)
    return LaunchCommand(
        plan.engine, text, "bash", (*notes, *unconverted, *untold, *one_node(plan))
    )


def _speculation(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    """Return who guesses tokens, on the GPUs all of it, and a note where the draft's repository
    holds no GGUF file."""
    draft = plan.draft
    if draft is None:
        return only(plan.workload.draft_tokens, "--spec-type", "draft-mtp"), ()
    repo = draft.repo_id
    notes: tuple[Note, ...] = ()
    if draft.format != "gguf":
        repo = DRAFT_REPOSITORY
        notes = (Note("launch_needs_gguf", repo_id=draft.repo_id, quant="F16"),)
    elif draft.variant:
        repo = f"{repo}:{draft.variant}"
    flags: list[Flag] = [
        ("--spec-draft-hf", repo),
        ("--spec-draft-ngl", _ALL_LAYERS),
        ("--spec-type", _SPEC_TYPES[draft.method]),
    ]
    return flags, notes


def gguf_repository(plan: LaunchPlan) -> tuple[str, tuple[Note, ...]]:
    """Return the repository when it holds GGUF files, else a placeholder and a note.

    Commands name no revision: llama.cpp downloads from `/resolve/main/`, and the word after the
    colon in Ollama's names is a quantization (huggingface.co/docs/hub/ollama).
    """
    if plan.format == "gguf":
        return plan.repo_id, no_revision(plan)
    needed = Note("launch_needs_gguf", repo_id=plan.repo_id, quant=plan.gguf_tag)
    return GGUF_REPOSITORY, (needed, *no_revision(plan))


def _cache(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    kind = plan.workload.kv_dtype
    types = llama_cpp_types(kind)
    if types is None:
        return [], (Note("launch_cache_type", engine=plan.engine, kv_dtype=kind),)
    if types == ("f16", "f16"):
        return [], ()
    return [("--cache-type-k", types[0]), ("--cache-type-v", types[1])], ()
