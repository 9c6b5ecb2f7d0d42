"""Groups of request fields that fill a Workload: what is asked of the model, and how it is run."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cached_property
from typing import Annotated

from pydantic import Field

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
    read_text,
    written,
)
from gpusizer.fit.demands import ServingLoad
from gpusizer.gpus.names import MAX_COUNT
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
from gpusizer.serving.replicas import ServingTarget
from gpusizer.speed.work import prompt_tokens

_CACHE_TYPE = OneOf((*BYTES_PER_ELEMENT, *ALIASES))
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")


def _read_cache_types(value: object) -> str:
    """One type, or those of keys and values: "q8_0/f16"."""
    keys, *values = read_text(value).split("/", 1)
    return "/".join(map(_CACHE_TYPE.read, (keys, *values)))


def _read_month(value: object) -> str:
    """A month or a day in the order of ISO 8601, which sorts as text."""
    text = read_text(value)
    if not _MONTH.fullmatch(text):
        raise Refused(text, "not_a_month")
    return text


_Month = Annotated[str, written(_read_month)]


class UseFields(RequestModel):
    """What the model is asked to do."""

    context: Tokens = Field(DEFAULT_CONTEXT, ge=1, le=MOST_CONTEXT)
    concurrency: Count = Field(1, ge=1, le=MOST_USERS)
    kv_dtype: Annotated[str, written(_read_cache_types), Unit("TYPE")] = Field(
        "auto",
        description=f"type of the KV cache: auto, {', '.join(BYTES_PER_ELEMENT)}, or those of keys"
        ' and values, such as "q8_0/f16"',
    )
    text_only: Flag = False
    draft_tokens: Count = Field(0, ge=0, le=64)


class SpeculationFields(RequestModel):
    """A second model that guesses tokens."""

    draft_model: Annotated[Text, Unit("MODEL")] = ""
    acceptance_rate: Share | None = Field(None, ge=0, le=1)


class EngineFields(RequestModel):
    """How a serving engine is started."""

    engine: Annotated[Text | None, Unit("SLUG")] = None
    engine_version: Annotated[Text | None, Unit("VERSION")] = None
    tensor_parallel: Count | None = Field(None, ge=1, le=MAX_COUNT)
    pipeline_parallel: Count | None = Field(None, ge=1, le=MAX_COUNT)
    expert_parallel: Count | None = Field(None, ge=1, le=MAX_COUNT)
    memory_utilization: Share | None = Field(None, ge=0.1, le=1.0)
    max_num_seqs: Count | None = Field(None, ge=1, le=100_000)
    max_num_batched_tokens: Tokens | None = Field(None, ge=1, le=10_000_000)
    max_loras: Count = Field(0, ge=0, le=256)
    max_lora_rank: Count = Field(DEFAULT_LORA_RANK, ge=1, le=512)
    enforce_eager: Flag = False
    sampler: Annotated[str, OneOf(SAMPLERS)] = "auto"
    prefix_caching: Flag | None = None
    flash_attention: Flag = True


class LlamaCppFields(RequestModel):
    """Options of llama.cpp alone."""

    backend: Annotated[str, OneOf(BACKENDS)] = BACKENDS[0]
    batch_size: Tokens | None = Field(None, ge=1, le=1_000_000)
    ubatch_size: Tokens | None = Field(None, ge=1, le=1_000_000)
    gpu_layers: Count | None = Field(None, ge=0, le=10_000)
    cpu_moe: Flag = False
    importance_matrix: Flag | None = None
    gguf_date: Annotated[_Month | None, Unit("DATE")] = None


class DiffusersFields(RequestModel):
    """Options of pipelines for pictures and video."""

    width: Pixels | None = Field(None, ge=16, le=16_384)
    height: Pixels | None = Field(None, ge=16, le=16_384)
    frames: Count | None = Field(None, ge=1, le=10_000)
    steps: Count | None = Field(None, ge=1, le=1000)
    cpu_offload: Annotated[str, OneOf(OFFLOADS)] = "none"


class WorkloadFields(UseFields, SpeculationFields, EngineFields, LlamaCppFields, DiffusersFields):
    """Everything that a Workload holds."""

    @cached_property
    def workload(self) -> Workload:
        """The fields as the estimators take them."""
        return Workload(**{field.name: getattr(self, field.name) for field in fields(Workload)})


LENGTHS = frozenset(("prompt_tokens", "answer_tokens", "shared_prefix_tokens"))
"""Fields of a request's tokens, which several users have without a rate, too."""


class TargetFields(RequestModel):
    """What all replicas together are to serve."""

    requests_per_second: Annotated[Number | None, Unit("N")] = Field(None, ge=0.001, le=1e6)
    prompt_tokens: Tokens | None = Field(None, ge=1, le=MOST_CONTEXT)
    answer_tokens: Tokens | None = Field(None, ge=1, le=MOST_CONTEXT)
    ttft_ms: Annotated[Number | None, Unit("MS")] = Field(None, ge=1, le=1e7)
    ttft_percentile: Number = Field(95.0, ge=50, le=99.9)

    shared_prefix_tokens: Tokens = Field(0, ge=0, le=MOST_CONTEXT)
    peak_to_mean: Number = Field(1.0, ge=1, le=100)
    api_usd_per_million: Usd | None = Field(None, ge=0, le=1e6)

    def target_within(self, context: int) -> ServingTarget | None:
        """The target, None where no rate is asked for; `context` is shared out where a length of
        prompts or answers is open.

        Raises InvalidRequest where one length takes all of the context.
        """
        if self.requests_per_second is None:
            return None
        prompt, answer = self._lengths_within(context)
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
        """What one replica is asked for: all of the rate, or the workload's users with requests of
        the stated lengths; None where neither is stated. Raises as `target_within` does."""
        rate, users = self.requests_per_second, workload.concurrency
        if rate is None and (users < 2 or not self._names_lengths):
            return None
        prompt, answer = self._lengths_within(workload.context)
        asked = None if rate is None else rate * self.peak_to_mean
        shared = self._shared_of(prompt)
        return ServingLoad(users if rate is None else None, asked, prompt, answer, shared)

    def lacks_a_load(self, users: int) -> bool:
        """Whether lengths or a time are named of requests that nobody asks for."""
        lengths = self._names_lengths and users < 2
        return self.requests_per_second is None and (lengths or self.ttft_ms is not None)

    @property
    def tokens_of_a_request(self) -> int | None:
        """Tokens of a prompt and its answer, None where one of them is not stated."""
        if self.prompt_tokens is None or self.answer_tokens is None:
            return None
        return self.prompt_tokens + self.answer_tokens

    @property
    def _names_lengths(self) -> bool:
        return self.prompt_tokens is not None or self.answer_tokens is not None

    def _shared_of(self, prompt: int) -> int:
        """Raises InvalidRequest where all of the prompt is shared."""
        if self.shared_prefix_tokens >= prompt:
            raise fail("shared_prefix_tokens", self.shared_prefix_tokens, "takes_the_prompt")
        return self.shared_prefix_tokens

    def _lengths_within(self, context: int) -> tuple[int, int]:
        prompt, answer = self.prompt_tokens, self.answer_tokens
        if answer is None:
            prompt = prompt or prompt_tokens(context)
            return prompt, _rest("prompt_tokens", prompt, context)
        return prompt or _rest("answer_tokens", answer, context), answer


def _rest(field: str, tokens: int, context: int) -> int:
    """Tokens of the context that one length leaves to the other."""
    if tokens >= context:
        raise fail(field, tokens, "takes_the_context", context=context)
    return context - tokens
