"""Groups of request fields that fill a Workload: the model's use, and its engine."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from gpusizer.core.request_model import RequestModel
from gpusizer.core.validation import (
    Count,
    Flag,
    Number,
    OneOf,
    Pixels,
    Refused,
    Share,
    Text,
    Tokens,
    Unit,
    Usd,
    fail,
)
from gpusizer.fit.requirements import ServingLoad
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.memory.engines.llama_cpp import LLAMA_CPP
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.memory.workload import (
    BACKENDS,
    DEFAULT_CONTEXT,
    DEFAULT_IMAGE_SIDE,
    DEFAULT_LORA_RANK,
    MOST_CONTEXT,
    MOST_IMAGES,
    MOST_OFFLOAD_GB,
    MOST_USERS,
    OFFLOADS,
    SAMPLERS,
    Workload,
)
from gpusizer.serving.replicas import ServingTarget
from gpusizer.speed.work import prompt_tokens

_CACHE_TYPE = OneOf((*BYTES_PER_ELEMENT, *ALIASES))
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")


def _read_cache_types(text: str) -> str:
    # One type, or those of keys and values: "q8_0/f16".
    keys, *values = text.split("/", 1)
    return "/".join(map(_CACHE_TYPE.read, (keys, *values)))


def _read_month(text: str) -> str:
    # In the order of ISO 8601, which sorts as text.
    if not _MONTH.fullmatch(text):
        raise Refused("not_a_month", text)
    return text


_Month = Annotated[Text, AfterValidator(_read_month)]


class UseFields(RequestModel):
    """Work of the model."""

    heading: ClassVar[str] = "workload"

    context: Tokens = Field(
        DEFAULT_CONTEXT,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens per sequence, prompt and answer together; of several users with both"
        " lengths stated, their sum unless another than the usual context is",
    )
    concurrency: Count = Field(1, ge=1, le=MOST_USERS, description="sequences in flight at once")
    kv_dtype: Annotated[Text, AfterValidator(_read_cache_types), Unit("TYPE")] = Field(
        "auto",
        description=f"type of the KV cache: auto, {', '.join(BYTES_PER_ELEMENT)}, or those of keys"
        ' and values, such as "q8_0/f16"',
    )
    text_only: Flag = Field(
        False, description="leave out the vision and audio parts of a multimodal model"
    )
    images: Count = Field(
        0,
        ge=0,
        le=MOST_IMAGES,
        description="pictures in each prompt: their tokens come on top of context and of"
        " prompt_tokens",
    )
    image_width: Pixels = Field(
        DEFAULT_IMAGE_SIDE, ge=16, le=16_384, description="width of each of these pictures"
    )
    image_height: Pixels = Field(
        DEFAULT_IMAGE_SIDE, ge=16, le=16_384, description="height of each of these pictures"
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
        description="share of guessed tokens that the model accepts; without it no faster speed"
        " is claimed",
    )


class EngineFields(RequestModel):
    """Start options of a serving engine."""

    heading: ClassVar[str] = "engine"

    engine: Annotated[Text | None, Unit("SLUG")] = Field(
        None,
        description='engine for every quantization, such as "vllm" or "llama.cpp"; without it'
        " each one's usual engine",
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
        None, ge=1, le=100_000, description="most sequences that a serving engine schedules at once"
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
        description="vLLM before 0.17: who samples top-k and top-p, FlashInfer (in Docker images"
        " up to 0.11.0) or PyTorch, which sorts; the log says which",
    )
    prefix_caching: Flag | None = Field(
        None,
        description="vLLM: keep states of recurrent layers for shared prefixes"
        " (--enable-prefix-caching; left to the release, which does so since 0.28)",
    )
    kv_offload_gb: Annotated[Number, Unit("GB")] = Field(
        0.0,
        ge=0,
        le=MOST_OFFLOAD_GB,
        description="system memory, in GB of 2^30 bytes for all GPUs together, in which the"
        " engine vllm (--kv-offloading-size) or sglang (--hicache-size) keeps the KV cache of"
        " earlier prompts",
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
        description='month or day on which the GGUF file was made, such as "2026-02": converter'
        " and quantizer of llama.cpp change, and with files of before 2025-04 every head of a"
        " latent model (MLA) is cached; without it that of most files of the model",
    )


class DiffusersFields(RequestModel):
    """Options of pipelines for pictures and video."""

    heading: ClassVar[str] = "diffusers"

    width: Pixels | None = Field(
        None, ge=16, le=16_384, description="width of the picture; without it the pipeline's own"
    )
    height: Pixels | None = Field(
        None, ge=16, le=16_384, description="height of the picture; without it the pipeline's own"
    )
    frames: Count | None = Field(None, ge=1, le=10_000, description="frames of the video")
    steps: Count | None = Field(
        None,
        ge=1,
        le=1000,
        description="steps that a picture or video takes; without it the pipeline's own",
    )
    cpu_offload: Annotated[str, OneOf(OFFLOADS)] = Field(
        "none", description="what waits in system memory for its turn"
    )


class WorkloadFields(UseFields, SpeculationFields, EngineFields, LlamaCppFields, DiffusersFields):
    """All fields of a Workload."""

    @property
    def workload(self) -> Workload:
        """The fields as estimators take them."""
        names = {field.name for field in fields(Workload)} & type(self).model_fields.keys()
        return Workload(**{name: getattr(self, name) for name in names})


# Tokens of a request whose lengths are open, as of conversations with a chat service
# (data/SOURCES.md, "Requests").
TYPICAL_PROMPT, TYPICAL_ANSWER = 1000, 300

# Fields of a request's tokens, which several users may state without a rate.
LENGTHS = frozenset(("prompt_tokens", "answer_tokens", "shared_prefix_tokens"))


class TargetFields(RequestModel):
    """Load that all replicas together serve."""

    heading: ClassVar[str] = "serving target"

    requests_per_second: Annotated[Number | None, Unit("N")] = Field(
        None,
        ge=0.001,
        le=1e6,
        description="requests a second for which to plan the cheapest GPUs",
    )
    prompt_tokens: Tokens | None = Field(
        None,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens of a prompt, of requests at a rate or of several users; without both"
        f" lengths {TYPICAL_PROMPT:,} and the shared ones at a rate, if the context holds them;"
        " else three quarters of the context",
    )
    answer_tokens: Tokens | None = Field(
        None,
        ge=1,
        le=MOST_CONTEXT,
        description="tokens of an answer; without both lengths"
        f" {TYPICAL_ANSWER:,} at a rate, if the context holds them; else the rest of it",
    )
    ttft_ms: Annotated[Number | None, Unit("MS")] = Field(
        None, ge=1, le=1e7, description="most milliseconds to the first token of an answer"
    )
    ttft_percentile: Number = Field(
        95.0,
        ge=50,
        le=99.9,
        description="percent of the requests that get their first token within ttft_ms",
    )

    shared_prefix_tokens: Tokens = Field(
        0,
        ge=0,
        le=MOST_CONTEXT,
        description="tokens that all prompts begin with, which a server reads once",
    )
    peak_to_mean: Number = Field(
        1.0,
        ge=1,
        le=100,
        description="requests of the busiest time of a day over those of its mean; the plan bears"
        " the busiest",
    )
    api_usd_per_million: Usd | None = Field(
        None,
        ge=0,
        le=1e6,
        description="US dollars that an API asks for a million tokens, in and out, to compare with",
    )

    def target_within(self, context: int, image_tokens: int = 0) -> ServingTarget | None:
        """Return the target, or None without a rate.

        `image_tokens` are added to each prompt. Open lengths of prompts or answers share `context`.
        Raises InvalidRequest if one length takes all of the context.
        """
        if self.requests_per_second is None:
            return None
        prompt, answer = self._lengths_within(context)
        prompt += image_tokens
        return ServingTarget(
            requests_per_second=self.requests_per_second,
            prompt_tokens=prompt,
            answer_tokens=answer,
            ttft_seconds=None if self.ttft_ms is None else self.ttft_ms / 1000,
            ttft_percentile=self.ttft_percentile,
            shared_prefix_tokens=self._shared_of(prompt),
            peak_to_mean=self.peak_to_mean,
            api_usd_per_million=self.api_usd_per_million,
        )

    def load_within(self, workload: Workload) -> ServingLoad | None:
        """Return the load of one replica, or None if neither rate nor lengths are stated.

        The load is all of the rate, or the workload's users with requests of the stated lengths.
        Raises as `target_within` does.
        """
        rate, users = self.requests_per_second, workload.concurrency
        if rate is None and (users < 2 or not self._names_lengths):
            return None
        prompt, answer = self._lengths_within(workload.context - workload.image_tokens)
        prompt += workload.image_tokens
        asked = None if rate is None else rate * self.peak_to_mean
        shared = self._shared_of(prompt)
        return ServingLoad(users if rate is None else None, asked, prompt, answer, shared)

    def lacks_a_load(self, users: int) -> bool:
        """Return whether request lengths or `ttft_ms` are set without a rate or several users."""
        lengths = self._names_lengths and users < 2
        return self.requests_per_second is None and (lengths or self.ttft_ms is not None)

    @property
    def tokens_of_a_request(self) -> int | None:
        """Tokens of a prompt and its answer, or None if one of them is not stated."""
        if self.prompt_tokens is None or self.answer_tokens is None:
            return None
        return self.prompt_tokens + self.answer_tokens

    @property
    def _names_lengths(self) -> bool:
        return self.prompt_tokens is not None or self.answer_tokens is not None

    def _shared_of(self, prompt: int) -> int:
        # Raises InvalidRequest if all of the prompt is shared.
        if self.shared_prefix_tokens >= prompt:
            raise fail("shared_prefix_tokens", self.shared_prefix_tokens, "takes_the_prompt")
        return self.shared_prefix_tokens

    def _lengths_within(self, context: int) -> tuple[int, int]:
        prompt, answer = self.prompt_tokens, self.answer_tokens
        # Many requests have other lengths than the longest that a context takes.
        usual = self.shared_prefix_tokens + TYPICAL_PROMPT
        is_open = self.requests_per_second is not None and not self._names_lengths
        if is_open and context >= usual + TYPICAL_ANSWER:
            return usual, TYPICAL_ANSWER
        if answer is None:
            prompt = prompt or prompt_tokens(context)
            return prompt, _rest("prompt_tokens", prompt, context)
        return prompt or _rest("answer_tokens", answer, context), answer


def _rest(field: str, tokens: int, context: int) -> int:
    if tokens >= context:
        raise fail(field, tokens, "takes_the_context", context=context)
    return context - tokens
