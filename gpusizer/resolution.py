"""What was asked for, within what the model and the engine allow, and what to say about that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from gpusizer.engines import find_engine
from gpusizer.experts import refused_degrees, resolve_experts
from gpusizer.fit import OFFLOAD_ENGINES
from gpusizer.kv_cache import key_and_value_bytes
from gpusizer.notes import Note
from gpusizer.profile import ModelProfile
from gpusizer.workload import DEFAULT_CONTEXT, OFFLOADS, Workload

# Fields that only engines with rules by version have an answer to, and their defaults;
# llama.cpp has one to the first alone.
_BY_VERSION: dict[str, Any] = {"engine_version": None, "text_only": False, "draft_tokens": 0}

# Fields about pictures and videos, and their defaults for models that make none.
_OF_PIPELINES: dict[str, Any] = {
    "width": None, "height": None, "frames": None, "cpu_offload": OFFLOADS[0],
}  # fmt: skip

_LLAMA_CPP_ONLY = ("gpu_layers", "cpu_moe", "batch_size", "ubatch_size")
_OLLAMA_CONTEXT = 4096  # num_ctx when nobody sets it, on cards below 24 GiB
_WHOLE_BYTES = (1, 2, 4)  # cache types without blocks and scales


def resolve_workload(
    workload: Workload, profile: ModelProfile
) -> tuple[Workload, tuple[Note, ...]]:
    """The workload as it is sized, and what the reader must know about the difference.

    Raises UnknownEngine.
    """
    if workload.engine is not None:
        workload = replace(workload, engine=find_engine(workload.engine).slug)
    workload, told = resolve_experts(workload, profile)
    notes = [*told, *refused_degrees(workload, profile)]
    pictures = _useless_for(profile, workload)
    if pictures:
        notes.append(Note("only_for_pipelines", facts=", ".join(pictures)))
    ignored = _ignored(workload)
    unused = [*ignored, *_unheard(workload)]
    if unused:
        notes.append(Note("not_modelled", facts=", ".join(unused)))
    workload = _on_canvas(replace(workload, **ignored, **pictures), profile)
    notes += _of_the_engine(workload)
    longest = profile.max_context
    if longest is not None and workload.context > longest:
        if workload.context != DEFAULT_CONTEXT:
            notes.append(Note("context_shortened", asked=workload.context, longest=longest))
        workload = replace(workload, context=longest)
    return workload, tuple(notes)


def _ignored(workload: Workload) -> dict[str, Any]:
    """Fields that this engine's numbers do not follow, with their defaults."""
    return {
        name: default for name, default in _BY_VERSION.items()
        if getattr(workload, name) != default and not _answers(workload.engine, name)
    }  # fmt: skip


def _unheard(workload: Workload) -> list[str]:
    """Options of llama.cpp that were set for another engine."""
    if workload.engine is None or workload.engine in OFFLOAD_ENGINES:
        return []
    asked = {name: getattr(workload, name) for name in _LLAMA_CPP_ONLY}
    return [name for name, value in asked.items() if value is not None and value is not False]


def _of_the_engine(workload: Workload) -> Iterator[Note]:
    """What the engine does otherwise unless it is told."""
    if workload.engine == "ollama" and workload.context != _OLLAMA_CONTEXT:
        yield Note("ollama_num_ctx", tokens=workload.context, default=_OLLAMA_CONTEXT)
    values = key_and_value_bytes(workload.kv_dtype)[1]
    if values not in _WHOLE_BYTES and not workload.flash_attention:
        yield Note("quantized_values_need_flash_attention")


def _useless_for(profile: ModelProfile, workload: Workload) -> dict[str, Any]:
    """Fields about pictures that this model has no answer to, with their defaults."""
    of = profile.pipeline
    known = {*_OF_PIPELINES} if of else set()
    if of and not (of.frames > 1 or (of.decoder and of.decoder.temporal_scale > 1)):
        known.discard("frames")
    return {
        name: default for name, default in _OF_PIPELINES.items()
        if name not in known and getattr(workload, name) != default
    }  # fmt: skip


def _on_canvas(workload: Workload, profile: ModelProfile) -> Workload:
    """The workload with the pipeline's own size where the request names none."""
    if profile.pipeline is None:
        return workload
    made = import_module("gpusizer.engines.pipeline_steps").canvas(profile.pipeline, workload)
    return replace(workload, width=made.width, height=made.height, frames=made.frames)


def _answers(engine: str | None, field: str) -> bool:
    """Whether this engine's numbers follow a field; those of no engine in particular cannot."""
    if engine is None or not find_engine(engine).versioned:
        return False
    return field == "engine_version" or engine not in OFFLOAD_ENGINES
