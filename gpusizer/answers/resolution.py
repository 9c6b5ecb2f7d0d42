"""Resolves a workload within the limits of the model and the engine, with notes on each change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpusizer.answers.drafting import resolve_draft
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.fit.fit import OFFLOAD_ENGINES
from gpusizer.fit.parallel_degrees import refused_degrees, resolve_experts
from gpusizer.memory.engines import find_engine
from gpusizer.memory.engines.pipeline_steps import canvas_of
from gpusizer.memory.engines.vllm.eras import era_of
from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.memory.workload import (
    BACKENDS,
    DEFAULT_CONTEXT,
    DEFAULT_LORA_RANK,
    OFFLOADS,
    SAMPLERS,
    Workload,
)
from gpusizer.model.architecture import Attention
from gpusizer.model.architecture.rotary import scaled_positions
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

# Fields that only engines with rules by version support, with their defaults; of those beside the
# version, engines of llama.cpp's family support some.
_BY_VERSION: dict[str, Any] = {
    "engine_version": None,
    "text_only": False,
    "draft_tokens": 0,
    "sampler": SAMPLERS[0],
    "max_loras": 0,
    "max_lora_rank": DEFAULT_LORA_RANK,
    "prefix_caching": False,
}

_OF_LLAMA_CPP = ("text_only", "draft_tokens")

# Fields of image and video pipelines, with their defaults for other models.
_OF_PIPELINES: dict[str, Any] = {
    "width": None,
    "height": None,
    "frames": None,
    "cpu_offload": OFFLOADS[0],
}

_LLAMA_CPP_ONLY = (
    "gpu_layers",
    "cpu_moe",
    "batch_size",
    "ubatch_size",
    "importance_matrix",
    "gguf_date",
    "backend",
)
_OLLAMA_CONTEXT = 4096  # default of num_ctx on cards below 24 GiB
_WHOLE_BYTES = (1, 2, 4)  # cache types without blocks and scales


def resolve_workload(
    workload: Workload, profile: ModelProfile
) -> tuple[Workload, tuple[Note, ...]]:
    """The workload that is sized, and notes on how it differs from the one requested.

    Raises UnknownEngine, and InvalidRequest for a context that the engine refuses.
    """
    if workload.engine is not None:
        workload = replace(workload, engine=find_engine(workload.engine).slug)
    workload, draft_notes = resolve_draft(workload, profile)
    workload, expert_notes = resolve_experts(workload, profile)
    notes = [*draft_notes, *expert_notes, *refused_degrees(workload, profile)]
    pictures = _useless_for(profile, workload)
    if pictures:
        notes.append(Note("only_for_pipelines", facts=", ".join(pictures)))
    ignored = _ignored(workload)
    unused = [*ignored, *_unheard(workload)]
    if unused:
        notes.append(Note("not_modelled", facts=", ".join(unused)))
    if workload.backend == "cpu":
        workload = replace(workload, gpu_layers=0)
    workload = _on_canvas(replace(workload, **ignored, **pictures), profile)
    notes += _of_the_engine(workload, profile)
    workload, about_context = _within(workload, profile)
    return workload, (*notes, *about_context)


def _within(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """The workload at a context that the engine starts with, and what it makes of a longer one.

    llama.cpp allocates what is asked for and warns (pull request 22145 caps slots alone), Ollama
    caps (pull request 11175), and vLLM refuses (`_get_and_verify_max_len`, vllm/config/model.py).
    A default that nobody asked for is cut everywhere.
    """
    asked, longest = workload.context, _longest(workload, profile)
    if longest is None or asked <= longest:
        return workload, ()
    cut = replace(workload, context=longest)
    if asked == DEFAULT_CONTEXT:
        return cut, ()
    if workload.engine == "llama.cpp":
        return workload, (Note("context_beyond_model", asked=asked, longest=longest),)
    if workload.engine == "vllm":
        raise InvalidRequest(
            field="context", value=asked, reason="beyond_the_model", engine="vLLM", longest=longest
        )
    return cut, (Note("context_shortened", asked=asked, longest=longest),)


def _longest(workload: Workload, profile: ModelProfile) -> int | None:
    """Tokens that the model is made for; under vLLM what its configuration stretches them to."""
    longest = profile.max_context
    if longest is None or workload.engine != "vllm" or profile.architecture is None:
        return longest
    return max((longest, *(scaled_positions(rotary) for rotary in profile.architecture.rotary)))


def _ignored(workload: Workload) -> dict[str, Any]:
    """Fields that were set but that the engine's estimate ignores, with their defaults."""
    return {
        name: default
        for name, default in _BY_VERSION.items()
        if getattr(workload, name) != default and not _answers(workload, name)
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


def _of_the_engine(workload: Workload, profile: ModelProfile) -> Iterator[Note]:
    """Notes on settings that the user has to pass to the engine, and on what it is not sized for.

    vLLM's first scheduler profiled as many of the largest images as sequences (mllama: 36 GiB) and
    held recurrent states in the peak of the profile, not in the cache.
    """
    first = workload.engine == "vllm" and era_of(workload.engine_version).profiles_whole_prompts
    if first and _is_beyond_the_first_scheduler(profile, workload):
        yield Note("first_scheduler", version=workload.engine_version or "")
    if workload.engine == "ollama" and workload.context != _OLLAMA_CONTEXT:
        yield Note("ollama_num_ctx", tokens=workload.context, default=_OLLAMA_CONTEXT)
    values = key_and_value_bytes(workload.kv_dtype)[1]
    if values not in _WHOLE_BYTES and not workload.flash_attention:
        yield Note("quantized_values_need_flash_attention")


def _is_beyond_the_first_scheduler(profile: ModelProfile, workload: Workload) -> bool:
    """Whether a model sees images or has recurrent or cross-attention layers."""
    plan = profile.architecture.layer_plan if profile.architecture else ()
    sees = any(group.part is Part.VISION for group in profile.groups)
    odd = any(spec.attention in (Attention.RECURRENT, Attention.CROSS) for spec in plan)
    return odd or (sees and not workload.text_only)


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


def _answers(workload: Workload, field: str) -> bool:
    """Whether the estimate of the engine depends on a field; false for no engine in particular."""
    engine = workload.engine
    if field == "draft_tokens" and workload.draft_model:
        return True
    if engine is None:
        return False
    if engine in OFFLOAD_ENGINES and field != "engine_version":
        return field in _OF_LLAMA_CPP
    return find_engine(engine).versioned
