"""Groups of fields that several requests share, and the values that the arithmetic takes from them.

Bounds, default, choices and meaning of a field stand here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainValidator

from gpusizer.answers.own_fields import DiskFields, OwnMachineFields, OwnMemoryFields
from gpusizer.core.request_model import RequestModel
from gpusizer.core.validation import (
    Count,
    Flag,
    Hours,
    Number,
    OneOf,
    Pixels,
    Refused,
    Share,
    Text,
    Texts,
    Tokens,
    Unit,
    Usd,
    Watts,
    Years,
    read_text,
    read_texts,
)
from gpusizer.fit.demands import DEFAULT_MAX_LOSS, NO_LIMIT, Demands
from gpusizer.fit.filters import IN_PRODUCTION, STATUSES, GpuFilter
from gpusizer.fit.machine_words import split_machines
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.hub.model_ref import ModelRef, ParseRef, check_revision
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
from gpusizer.quality.words import WORDS, LossWord

ALL_QUANTS = "all"
NATIVE_QUANT = "native"
DEFAULT_TOP = 20

_CACHE_TYPE = OneOf((*BYTES_PER_ELEMENT, *ALIASES))
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")
_STATUS = OneOf((*STATUSES, IN_PRODUCTION))


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


def _read_statuses(value: Any) -> tuple[str, ...]:
    return tuple(map(_STATUS.read, read_texts(value)))


def read_machines(value: Any) -> tuple[str, ...]:
    """Machines: a list, or text with commas; memory alone belongs to the one before it."""
    return read_texts(split_machines(read_texts(value)))


Machines = Annotated[
    tuple[str, ...], PlainValidator(read_machines, json_schema_input_type=list[str]), Unit("NAMES")
]
_Month = Annotated[str, PlainValidator(_read_month, json_schema_input_type=str)]


def read_underscores(value: Any) -> str:
    """A name whose words may be joined by hyphens too."""
    return read_text(value).replace("-", "_")


class ModelFields(RequestModel):
    """Which files of the Hub are meant."""

    heading: ClassVar[str] = "model"

    model: Text = Field("", description='model ID or Hub URL, such as "Qwen/Qwen3-8B"')
    revision: Annotated[Text | None, Unit("REV")] = Field(None, description="branch, tag or commit")
    file: Annotated[Text | None, Unit("PATH")] = Field(
        None, description="one file of the repository"
    )

    def ref(self, parse: ParseRef) -> ModelRef:
        """What the model names; `parse` reads what was pasted. Raises InvalidRequest."""
        ref = parse(self.model)
        if self.revision:
            ref = replace(ref, revision=check_revision(self.revision))
        return replace(ref, file=self.file) if self.file else ref


class GpuFields(OwnMemoryFields):
    """GPUs to look at, and how many rows to answer with."""

    heading: ClassVar[str] = "GPUs"

    gpus: Machines = Field(
        (),
        alias="gpu",
        description='look at these GPUs, separated by commas ("4090, 2x3090, 3060 + 64 GB RAM"),'
        ' instead of ranking all; one that no list has is described: "custom:96GB@1800GB/s", then,'
        ' if known, "@200TFLOPS" (dense, 16 bits), "@5000USD", "@350W", its stack (@CUDA, @ROCm,'
        " @Metal, @oneAPI) and what it computes in (@fp8, @fp4, @int8)",
    )
    gpu_count: Count | None = Field(
        None,
        ge=1,
        le=MAX_COUNT,
        description="boards of each GPU; without it the smallest number that fits",
    )
    top: Count = Field(
        DEFAULT_TOP, ge=0, le=1000, description="rows of the ranking to return, 0 for all"
    )


class QuantFields(RequestModel):
    """How weights are stored."""

    heading: ClassVar[str] = "quantization"

    quants: Annotated[Texts, Unit("SLUGS")] = Field(
        (ALL_QUANTS,),
        alias="quant",
        description=f'quantization slugs separated by commas, "{NATIVE_QUANT}" for the checkpoint'
        f' as stored, or "{ALL_QUANTS}"',
    )
    max_loss: Annotated[str, OneOf(tuple(WORDS)), BeforeValidator(read_underscores)] = Field(
        DEFAULT_MAX_LOSS.value,
        description="the most that a quantization chosen for you may lose, in the words of"
        " `quality`; more only where nothing else fits. What `quant` names is taken as it is",
    )

    def demands(self, wanted: Sequence[str], min_tok_s: float | None = None) -> Demands:
        """What is asked of a way; `wanted` are the quantizations to answer for, and what is named
        is obeyed."""
        most = LossWord(self.max_loss) if ALL_QUANTS in wanted else NO_LIMIT
        return Demands(most, min_tok_s)


class RigFields(OwnMachineFields):
    """One machine of mixed cards."""

    heading: ClassVar[str] = "mixed machine"

    rig: Annotated[Text, Unit("CARDS")] = Field(
        "",
        description='place models on this machine, as llama.cpp would: "3090 + 3060 + 64gb ram"',
    )


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


class FilterFields(RequestModel):
    """Which GPUs and plans a ranking may consider."""

    heading: ClassVar[str] = "filters"

    vendors: Texts = Field((), alias="vendor", description="only these vendors")
    segments: Texts = Field(
        (),
        alias="segment",
        description="only these segments: consumer, workstation, datacenter, apple, embedded, soc",
    )
    software: Texts = Field(
        (), description="only these software stacks: CUDA, ROCm, Metal, oneAPI, CANN, …"
    )
    statuses: Annotated[
        tuple[str, ...],
        PlainValidator(_read_statuses, json_schema_input_type=list[str]),
        Unit("NAMES"),
    ] = Field((), alias="status", description=f"only cards that are {', '.join(_STATUS.choices)}")
    rentable: Flag | None = Field(
        None, description="true for what somebody rents out, false for the rest"
    )
    max_usd: Usd | None = Field(
        None, ge=1, le=1e9, description="most that all boards together may cost to buy"
    )
    max_usd_per_hour: Usd | None = Field(
        None,
        ge=0.001,
        le=1e6,
        description="most that all boards together may cost to rent for an hour",
    )
    max_watts: Watts | None = Field(
        None, ge=1, le=1e6, description="most that all boards together may draw"
    )

    @cached_property
    def filters(self) -> GpuFilter:
        """The fields as rankings take them."""
        return GpuFilter(**{field.name: getattr(self, field.name) for field in fields(GpuFilter)})


class CostFields(DiskFields):
    """What costs are computed with."""

    heading: ClassVar[str] = "costs"

    hours_per_day: Hours = Field(
        DEFAULT_ASSUMPTIONS.hours_per_day, ge=0.01, le=24, description="hours of work a day"
    )
    usd_per_kwh: Usd = Field(
        DEFAULT_ASSUMPTIONS.usd_per_kwh, ge=0, le=10, description="price of electricity, for a kWh"
    )
    amortisation_years: Years = Field(
        DEFAULT_ASSUMPTIONS.amortisation_years,
        ge=0.1,
        le=20,
        description="years after which bought boards are worth nothing",
    )
    host_usd: Usd = Field(
        DEFAULT_ASSUMPTIONS.host_usd,
        ge=0,
        le=1e7,
        description="price of the computer around the boards, 0 to leave it out",
    )
    gpu_usd: Usd | None = Field(
        None,
        ge=0,
        le=1e7,
        description="your own price of one board of the GPUs named, in place of those on record",
    )
    gpu_usd_per_hour: Usd | None = Field(
        None,
        ge=0,
        le=10_000,
        description="your own price of an hour of one board of the GPUs named",
    )
    network_gbit_per_s: Annotated[Number, Unit("GBIT/S")] = Field(
        DEFAULT_ASSUMPTIONS.network_gbit_per_s,
        ge=0.001,
        le=10_000,
        description="speed of the network that weights are downloaded over, in Gbit/s",
    )

    @cached_property
    def assumptions(self) -> CostAssumptions:
        """The fields as costs take them."""
        names = [field.name for field in fields(CostAssumptions)]
        return CostAssumptions(**{name: getattr(self, name) for name in names})
