"""TrainingRequest: a question about training, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Self

from pydantic import BeforeValidator, Field

from gpusizer.core.request_model import RequestModel, is_empty
from gpusizer.core.tables import toml_of
from gpusizer.core.validation import (
    Count,
    Flag,
    Number,
    OneOf,
    Share,
    Text,
    Texts,
    Tokens,
    Unit,
    Usd,
    fail,
    read_text,
    written,
)
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.training.lengths import MOST_TOKENS, bounds_of, read_lengths, with_lengths
from gpusizer.training.optimizers import find_optimizer
from gpusizer.training.plan import (
    ALL_LINEAR,
    BASES,
    CHECKPOINTING,
    DEFAULT_RANK,
    DEFAULT_SEQUENCE,
    METHODS,
    OFFLOADS,
    PRECISIONS,
    SHARDINGS,
    TrainingPlan,
)
from gpusizer.training.stacks import find_stack
from gpusizer.usecases.requests.request_fields import GpuFields, ModelFields

RANKINGS = ("recommended", "smallest", "cheapest", "fastest")

_TABLES = toml_of(__file__)
_SPELLINGS: Mapping[str, Mapping[str, str]] = _TABLES["spellings"]
_PRECISION_SIGNS: Sequence[tuple[str, str]] = _TABLES["precision_signs"]


def _read_precision(value: object) -> str:
    """What a precision or a sentence about one means: "bf16 compute, fp32 params" is "mixed"."""
    text = read_text(value).lower()
    if text not in PRECISIONS:
        meant = (precision for sign, precision in _PRECISION_SIGNS if sign in text)
        return next(meant, text.partition(" ")[0])
    return text


class RunFields(RequestModel):
    """How the model is trained."""

    method: Annotated[str, OneOf(METHODS, _SPELLINGS["method"])] = "lora"
    sequence_length: Tokens = Field(DEFAULT_SEQUENCE, ge=1, le=MOST_TOKENS)
    micro_batch: Count = Field(1, ge=1, le=100_000)
    gradient_accumulation: Count = Field(1, ge=1, le=100_000)
    optimizer: Annotated[Text, Unit("NAME")] = "adamw"
    precision: (
        Annotated[str, OneOf(PRECISIONS, _SPELLINGS["precision"]), BeforeValidator(_read_precision)]
        | None
    ) = None
    framework: Annotated[Text, Unit("NAME")] = "transformers"
    framework_version: Annotated[Text | None, Unit("VERSION")] = None
    train_embeddings: Flag | None = None
    ema: Flag = False
    low_rank: Count = Field(128, ge=1, le=65_536)


class AdapterFields(RequestModel):
    """Adapters and what lies frozen beside them."""

    lora_rank: Count = Field(DEFAULT_RANK, ge=1, le=65_536)
    lora_targets: Texts = (ALL_LINEAR,)
    adapters_on_towers: Flag | None = None
    base: Annotated[str, OneOf(BASES)] = "auto"


class MemoryFields(RequestModel):
    """What saves memory."""

    gradient_checkpointing: Annotated[
        str, OneOf(CHECKPOINTING, _SPELLINGS["gradient_checkpointing"])
    ] = "full"
    offload: Annotated[str, OneOf(OFFLOADS, _SPELLINGS["offload"])] = "none"
    fused_loss: Flag | None = None
    flash_attention: Flag = True
    compiled: Flag = False
    packed: Flag | None = None
    lengths: Annotated[str, written(read_lengths), Unit("LENGTHS")] | None = None
    optimizer_in_backward: Flag = False


class ShardingFields(RequestModel):
    """What is divided over GPUs."""

    sharding: Annotated[str, OneOf(SHARDINGS, _SPELLINGS["sharding"])] | None = None
    tensor_parallel: Count = Field(1, ge=1, le=MAX_COUNT)
    pipeline_parallel: Count = Field(1, ge=1, le=MAX_COUNT)
    context_parallel: Count = Field(1, ge=1, le=MAX_COUNT)


class RolloutFields(RequestModel):
    """An engine that writes the samples of reinforcement learning on the same GPUs."""

    rollout_share: Share | None = Field(None, ge=0.01, le=0.99)
    rollout_sleeps: Flag = False


class PlanFields(RunFields, AdapterFields, MemoryFields, ShardingFields, RolloutFields):
    """Everything that a TrainingPlan holds but the number of GPUs."""


PLAN_FIELDS = tuple(PlanFields.model_fields)
"""Fields of a plan."""


class RankingFields(RequestModel):
    """What is ranked how, and the work that is timed and priced."""

    rank_by: Annotated[str, OneOf(RANKINGS)] = RANKINGS[0]
    min_tok_s: Annotated[Number | None, Unit("TOK_S")] = Field(None, ge=0.01, le=1e9)
    dataset_tokens: Tokens = Field(10_000_000, ge=1, le=10**15)
    epochs: Number = Field(1.0, ge=0.001, le=10_000)
    usd_per_kwh: Usd = Field(DEFAULT_ASSUMPTIONS.usd_per_kwh, ge=0, le=100)


class TrainingRequest(ModelFields, GpuFields, RankingFields, PlanFields):
    """A checked request to fine-tune one model."""

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """A checked request; "galore" is full training with the optimizer of that name.

        Raises InvalidRequest as every request does, and where the plan cannot be.
        """
        if str(fields.get("method", "")).strip().lower() == "galore":
            named = fields.get("optimizer")
            fields = {**fields, "optimizer": "galore_adamw" if is_empty(named) else named}
        request = super().from_fields(fields)
        request.plan  # noqa: B018 - names of optimizers and frameworks are checked in there
        return request

    @property
    def given(self) -> tuple[str, ...]:
        """Names of plan fields that were given, bounds of lengths being one of the sequence length:
        what was not is free to be chosen.
        """
        named = set(self.model_fields_set)
        if bounds_of(self.lengths):
            named.add("sequence_length")
        return tuple(name for name in PLAN_FIELDS if name in named)

    @cached_property
    def plan(self) -> TrainingPlan:
        """The settings that were given, with defaults for the others. Raises InvalidRequest."""
        gpus = self.gpu_count or 1
        settings = {name: getattr(self, name) for name in PLAN_FIELDS}
        stated = {name: value for name, value in settings.items() if value is not None}
        plan = self._with_lengths(TrainingPlan(**stated, gpus=gpus))
        if gpus % plan.split:
            if gpus != 1:
                raise fail("gpu_count", gpus, "cannot_be_split")
            plan = plan.changed(gpus=plan.split)
        optimizer = find_optimizer(plan.optimizer)
        framework = find_stack(plan.framework, plan.framework_version)
        return plan.changed(optimizer=optimizer.slug, framework=framework.slug)

    def _with_lengths(self, plan: TrainingPlan) -> TrainingPlan:
        """The plan for the lengths that were given. Raises InvalidRequest where `packed` denies
        them.
        """
        if not self.lengths:
            return plan
        cap = self.sequence_length if "sequence_length" in self.model_fields_set else None
        plan = with_lengths(plan, self.lengths, cap)
        if self.packed is not None and self.packed is not plan.packed:
            raise fail("lengths", self.lengths, "packed_differs")
        return plan
