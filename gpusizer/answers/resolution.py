"""Resolves a workload within the limits of the model and the engine, with notes on each change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpusizer.core.messages import Note
from gpusizer.fit.fit import OFFLOAD_ENGINES
from gpusizer.fit.parallel_degrees import refused_degrees, resolve_experts
from gpusizer.memory.engines import find_engine
from gpusizer.memory.engines.pipeline_steps import canvas_of
from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.memory.workload import BACKENDS, DEFAULT_CONTEXT, OFFLOADS, Workload
from gpusizer.model.profile import ModelProfile

# Fields that only engines with rules by version support, with their defaults; llama.cpp
# supports the first alone.
_BY_VERSION: dict[str, Any] = {"engine_version": None, "text_only": False, "draft_tokens": 0}

# Fields of image and video pipelines, with their defaults for other models.
_OF_PIPELINES: dict[str, Any] = {
    "width": None,
    "height": None,
    "frames": None,
    "cpu_offload": OFFLOADS[0],
}

_LLAMA_CPP_ONLY = ("gpu_layers", "cpu_moe", "batch_size", "ubatch_size", "backend")
_OLLAMA_CONTEXT = 4096  # default of num_ctx on cards below 24 GiB
_WHOLE_BYTES = (1, 2, 4)  # cache types without blocks and scales


def resolve_workload(
    workload: Workload, profile: ModelProfile
) -> tuple[Workload, tuple[Note, ...]]:
    """The workload that is sized, and notes on how it differs from the one requested.

    Raises UnknownEngine.
    """
    if workload.engine is not None:
        workload = replace(workload, engine=find_engine(workload.engine).slug)
    workload, expert_notes = resolve_experts(workload, profile)
    notes = [*expert_notes, *refused_degrees(workload, profile)]
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
    """Fields that were set but that the engine's estimate ignores, with their defaults."""
    return {
        name: default
        for name, default in _BY_VERSION.items()
        if getattr(workload, name) != default and not _answers(workload.engine, name)
    }


def _unheard(workload: Workload) -> list[str]:
    """Options of llama.cpp that were set for another engine."""
    if workload.engine is None or workload.engine in OFFLOAD_ENGINES:
        return []
    options = {name: getattr(workload, name) for name in _LLAMA_CPP_ONLY}
    return [
        name
        for name, value in options.items()
        if value is not None and value is not False and value != BACKENDS[0]
    ]


def _of_the_engine(workload: Workload) -> Iterator[Note]:
    """Notes on settings that the user has to pass to the engine."""
    if workload.engine == "ollama" and workload.context != _OLLAMA_CONTEXT:
        yield Note("ollama_num_ctx", tokens=workload.context, default=_OLLAMA_CONTEXT)
    values = key_and_value_bytes(workload.kv_dtype)[1]
    if values not in _WHOLE_BYTES and not workload.flash_attention:
        yield Note("quantized_values_need_flash_attention")


def _useless_for(profile: ModelProfile, workload: Workload) -> dict[str, Any]:
    """Fields of pipelines that were set but that this model does not have, with their defaults."""
    pipeline = profile.pipeline
    supported = {*_OF_PIPELINES} if pipeline else set()
    if pipeline and not (
        pipeline.frames > 1 or (pipeline.decoder and pipeline.decoder.temporal_scale > 1)
    ):
        supported.discard("frames")
    return {
        name: default
        for name, default in _OF_PIPELINES.items()
        if name not in supported and getattr(workload, name) != default
    }


def _on_canvas(workload: Workload, profile: ModelProfile) -> Workload:
    """The workload with the pipeline's own size where the request names none."""
    if profile.pipeline is None:
        return workload
    canvas = canvas_of(profile.pipeline, workload)
    return replace(workload, width=canvas.width, height=canvas.height, frames=canvas.frames)


def _answers(engine: str | None, field: str) -> bool:
    """Whether the estimate of this engine depends on a field; false for no engine in particular."""
    if engine is None or not find_engine(engine).versioned:
        return False
    return field == "engine_version" or engine not in OFFLOAD_ENGINES
