"""Groups of request fields that fill a Workload: what is asked of the model, and how it is run."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator

from gpusizer.core.request_model import RequestModel
from gpusizer.core.validation import (
    Count,
    Flag,
    OneOf,
    Pixels,
    Refused,
    Share,
    Text,
    Tokens,
    Unit,
    read_text,
)
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.memory.engines import DIFFUSERS, LLAMA_CPP, VLLM
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.memory.workload import (
    BACKENDS,
    DEFAULT_CONTEXT,
    DEFAULT_LORA_RANK,
    MOST_CONTEXT,
    MOST_USERS,
    OFFLOADS,
    SAMPLERS,
    Workload,
)

_CACHE_TYPE = OneOf((*BYTES_PER_ELEMENT, *ALIASES))
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")


def _read_cache_types(value: Any) -> str:
    """One type, or those of keys and values: "q8_0/f16"."""
    keys, *values = read_text(value).split("/", 1)
    return "/".join(map(_CACHE_TYPE.read, (keys, *values)))


def _read_month(value: Any) -> str:
    """A month or a day in the order of ISO 8601, which sorts as text."""
    text = read_text(value)
    if not _MONTH.fullmatch(text):
        raise Refused(text, "not_a_month")
    return text


_Month = Annotated[str, PlainValidator(_read_month, json_schema_input_type=str)]


class UseFields(RequestModel):
    """What the model is asked to do."""

    heading: ClassVar[str] = "workload"

    context: Tokens = Field(
        DEFAULT_CONTEXT,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens per sequence, prompt and answer together",
    )
    concurrency: Count = Field(1, ge=1, le=MOST_USERS, description="sequences in flight at once")
    kv_dtype: Annotated[
        str, PlainValidator(_read_cache_types, json_schema_input_type=str), Unit("TYPE")
    ] = Field(
        "auto",
        description=f"type of the KV cache: auto, {', '.join(BYTES_PER_ELEMENT)}, or those of keys"
        ' and values, such as "q8_0/f16"',
    )
    text_only: Flag = Field(
        False, description="leave out the vision and audio parts of a multimodal model"
    )
    draft_tokens: Count = Field(
        0,
        ge=0,
        le=64,
        description="tokens guessed ahead, by the model's own draft layers or by draft_model",
    )


class SpeculationFields(RequestModel):
    """A second model that guesses tokens."""

    heading: ClassVar[str] = "speculative decoding"

    draft_model: Annotated[Text, Unit("MODEL")] = Field(
        "",
        description="a second model on the same GPUs that guesses tokens: an EAGLE or DFlash head"
        ' or a small sibling, such as "Qwen/Qwen3-0.6B"',
    )
    acceptance_rate: Share | None = Field(
        None,
        ge=0,
        le=1,
        description="share of guessed tokens that the model accepts; without it no faster speed is"
        " claimed",
    )


class EngineFields(RequestModel):
    """How a serving engine is started."""

    heading: ClassVar[str] = "engine"

    engine: Annotated[Text | None, Unit("SLUG")] = Field(
        None,
        description=f'engine for every quantization, such as "{VLLM.slug}" or "{LLAMA_CPP.slug}";'
        " without it each one's usual engine",
    )
    engine_version: Annotated[Text | None, Unit("VERSION")] = Field(
        None, description='version of the engine, such as "0.8.5"; without it the current one'
    )
    tensor_parallel: Count | None = Field(
        None, ge=1, le=MAX_COUNT, description="tensor-parallel degree"
    )
    pipeline_parallel: Count | None = Field(None, ge=1, le=MAX_COUNT, description="pipeline stages")
    expert_parallel: Count | None = Field(
        None, ge=1, le=MAX_COUNT, description="vLLM: ranks to deal whole experts out to"
    )
    memory_utilization: Share | None = Field(
        None,
        ge=0.1,
        le=1.0,
        description="share of the card that the engine may use; without it the engine's own",
    )
    max_num_seqs: Count | None = Field(
        None,
        ge=1,
        le=100_000,
        description="most sequences that a serving engine schedules at once",
    )
    max_num_batched_tokens: Tokens | None = Field(
        None, ge=1, le=10_000_000, description="most tokens of one scheduling step"
    )
    max_loras: Count = Field(
        0, ge=0, le=256, description="vLLM: adapters that one batch may mix; 0 serves none"
    )
    max_lora_rank: Count = Field(
        DEFAULT_LORA_RANK, ge=1, le=512, description="vLLM: largest rank of those adapters"
    )
    enforce_eager: Flag = Field(False, description="run without CUDA graphs")
    sampler: Annotated[str, OneOf(SAMPLERS)] = Field(
        "auto",
        description="vLLM before 0.17: who samples top-k and top-p, FlashInfer (in Docker images up"
        " to 0.11.0) or PyTorch, which sorts; the log says which",
    )
    prefix_caching: Flag = Field(
        False,
        description="vLLM: keep states of recurrent layers for shared prefixes"
        " (--enable-prefix-caching, for such models off by default)",
    )
    flash_attention: Flag = Field(True, description="false when attention materialises its scores")


class LlamaCppFields(RequestModel):
    """Options of llama.cpp alone."""

    heading: ClassVar[str] = LLAMA_CPP.name

    backend: Annotated[str, OneOf(BACKENDS)] = Field(
        BACKENDS[0],
        description="what llama.cpp or Ollama runs on; left open, speeds span what a card has",
    )
    batch_size: Tokens | None = Field(None, ge=1, le=1_000_000, description="logical batch")
    ubatch_size: Tokens | None = Field(None, ge=1, le=1_000_000, description="physical batch")
    gpu_layers: Count | None = Field(
        None, ge=0, le=10_000, description="layers on the GPU, the output counted as one"
    )
    cpu_moe: Flag = Field(False, description="routed experts stay in system memory")
    importance_matrix: Flag | None = Field(
        None,
        description="whether the GGUF file was quantized with an importance matrix; without it as"
        " is usual: with one at IQ types, without at the others",
    )
    gguf_date: Annotated[_Month | None, Unit("DATE")] = Field(
        None,
        description='month or day on which the GGUF file was made, such as "2026-02": converter and'
        " quantizer of llama.cpp change; without it that of most files of the model",
    )


class DiffusersFields(RequestModel):
    """Options of pipelines for pictures and video."""

    heading: ClassVar[str] = DIFFUSERS.name

    width: Pixels | None = Field(
        None, ge=16, le=16_384, description="width of the picture; without it the pipeline's own"
    )
    height: Pixels | None = Field(
        None, ge=16, le=16_384, description="height of the picture; without it the pipeline's own"
    )
    frames: Count | None = Field(None, ge=1, le=10_000, description="frames of the video")
    cpu_offload: Annotated[str, OneOf(OFFLOADS)] = Field(
        "none", description="what waits in system memory for its turn"
    )


class WorkloadFields(UseFields, SpeculationFields, EngineFields, LlamaCppFields, DiffusersFields):
    """Everything that a Workload holds."""

    @cached_property
    def workload(self) -> Workload:
        """The fields as the estimators take them."""
        return Workload(**{field.name: getattr(self, field.name) for field in fields(Workload)})
