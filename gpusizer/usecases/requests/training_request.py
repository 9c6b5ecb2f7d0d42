"""TrainingRequest: a question about training, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field

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
    # A sentence may state it: "bf16 compute, fp32 params" is "mixed".
    text = read_text(value).lower()
    if text not in PRECISIONS:
        meant = (precision for sign, precision in _PRECISION_SIGNS if sign in text)
        return next(meant, text.partition(" ")[0])
    return text


class RunFields(RequestModel):
    """Method and settings of the training."""

    heading: ClassVar[str] = "training"

    method: Annotated[str, OneOf(METHODS, _SPELLINGS["method"])] = Field(
        "lora", description="what is trained: every weight, or adapters beside a frozen base"
    )
    sequence_length: Tokens = Field(
        DEFAULT_SEQUENCE, ge=1, le=MOST_TOKENS, description="tokens of a sequence"
    )
    micro_batch: Count = Field(1, ge=1, le=100_000, description="sequences per GPU and step")
    gradient_accumulation: Count = Field(1, ge=1, le=100_000, description="steps before an update")
    optimizer: Annotated[Text, Unit("NAME")] = Field(
        "adamw",
        description="adamw, adamw_8bit, paged_adamw, adafactor, lion, muon, galore_adamw, …",
    )
    precision: (
        Annotated[str, OneOf(PRECISIONS, _SPELLINGS["precision"]), BeforeValidator(_read_precision)]
        | None
    ) = Field(
        None,
        description="width of weights and states: mixed has FP32 weights, master FP32 copies;"
        " without it what method and sharding bring",
    )
    framework: Annotated[Text, Unit("NAME")] = Field(
        "transformers",
        description="transformers, axolotl, unsloth, torchtune, litgpt, …; without it unsloth,"
        " where adapters of a language model fit on one NVIDIA card with it alone",
    )
    framework_version: Annotated[Text | None, Unit("VERSION")] = Field(
        None,
        description='version of the framework or its date, such as "4.46" or "2025-01", a month'
        " as its last release; without it today's",
    )
    train_embeddings: Flag | None = Field(
        None, description="train embedding and head in full; without it in full training alone"
    )
    ema: Flag = Field(False, description="keep a moving average of the weights")
    low_rank: Count = Field(128, ge=1, le=65_536, description="rows that GaLore projects to")


class AdapterFields(RequestModel):
    """Adapters and the frozen weights next to them."""

    heading: ClassVar[str] = "adapters"

    lora_rank: Count = Field(DEFAULT_RANK, ge=1, le=65_536, description="rank of adapters")
    lora_targets: Texts = Field(
        (ALL_LINEAR,), description="matrices with adapters, separated by commas"
    )
    adapters_on_towers: Flag | None = Field(
        None, description="adapters on the blocks of vision and audio towers; without it by name"
    )
    base: Annotated[str, OneOf(BASES)] = Field(
        "auto", description="width of the frozen weights; auto follows the method"
    )


class MemoryFields(RequestModel):
    """Options that save memory."""

    heading: ClassVar[str] = "memory"

    gradient_checkpointing: Annotated[
        str, OneOf(CHECKPOINTING, _SPELLINGS["gradient_checkpointing"])
    ] = Field("full", description="activations that are computed again instead of being kept")
    offload: Annotated[str, OneOf(OFFLOADS, _SPELLINGS["offload"])] = Field(
        "none",
        description="what is kept in system memory, or on NVMe, between its uses; model: weights"
        " and states",
    )
    fused_loss: Flag | None = Field(
        None,
        description="true when logits are never held whole, false when they are; without it as"
        " the framework does",
    )
    flash_attention: Flag = Field(True, description="false when attention holds its scores")
    compiled: Flag = Field(False, description="torch.compile")
    packed: Flag | None = Field(
        None, description="true when all sequences have the full length, false when they vary"
    )
    lengths: Annotated[Text, AfterValidator(read_lengths), Unit("LENGTHS")] | None = Field(
        None,
        description="how lengths vary, in place of packed: fixed, spread (few are as long as"
        " sequence_length), or the shortest and the longest in tokens, such as 512-4096, which"
        " sequence_length cuts where it is given",
    )
    optimizer_in_backward: Flag = Field(
        False, description="each gradient is used and freed at once"
    )


class ShardingFields(RequestModel):
    """Division over GPUs."""

    heading: ClassVar[str] = "sharding"

    sharding: Annotated[str, OneOf(SHARDINGS, _SPELLINGS["sharding"])] | None = Field(
        None, description="what data-parallel GPUs divide; without it ddp, or fsdp where needed"
    )
    tensor_parallel: Count = Field(1, ge=1, le=MAX_COUNT, description="tensor-parallel degree")
    pipeline_parallel: Count = Field(1, ge=1, le=MAX_COUNT, description="pipeline stages")
    context_parallel: Count = Field(
        1, ge=1, le=MAX_COUNT, description="GPUs that divide each sequence"
    )


class RolloutFields(RequestModel):
    """Engine that writes the samples of reinforcement learning on the same GPUs."""

    heading: ClassVar[str] = "reinforcement learning"

    rollout_share: Share | None = Field(
        None,
        ge=0.01,
        le=0.99,
        description="share of each GPU that a rollout engine reserves beside the training, as"
        " TRL's vllm_gpu_memory_utilization; without it no such engine, or one on other GPUs",
    )
    rollout_sleeps: Flag = Field(
        False, description="that engine gives its memory back while weights are updated"
    )


class PlanFields(RunFields, AdapterFields, MemoryFields, ShardingFields, RolloutFields):
    """All fields of a TrainingPlan except the number of GPUs."""


PLAN_FIELDS = tuple(PlanFields.model_fields)  # fields of a plan


class RankingFields(RequestModel):
    """Order of the ranking, and the work that is timed and priced."""

    heading: ClassVar[str] = "time and price"

    rank_by: Annotated[str, OneOf(RANKINGS)] = Field(
        RANKINGS[0], description="order of the ranking; cheapest is for the whole run"
    )
    min_tok_s: Annotated[Number | None, Unit("TOK_S")] = Field(
        None,
        ge=0.01,
        le=1e9,
        description="tokens/s of all GPUs together that are enough: slower plans are left out,"
        " those of unknown speed stay; without it a recommendation ends the run within a week",
    )
    dataset_tokens: Tokens = Field(
        10_000_000, ge=1, le=10**15, description="work to be timed and priced"
    )
    epochs: Number = Field(1.0, ge=0.001, le=10_000, description="passes over it")
    usd_per_kwh: Usd = Field(
        DEFAULT_ASSUMPTIONS.usd_per_kwh, ge=0, le=100, description="price of electricity, for a kWh"
    )


class TrainingRequest(ModelFields, GpuFields, RankingFields, PlanFields):
    """A checked request to fine-tune one model."""

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request; "galore" is full training with the optimizer of that name.

        Raises InvalidRequest for invalid fields and impossible plans.
        """
        if str(fields.get("method", "")).strip().lower() == "galore":
            named = fields.get("optimizer")
            fields = {**fields, "optimizer": "galore_adamw" if is_empty(named) else named}
        request = super().from_fields(fields)
        request.plan  # noqa: B018 - names of optimizers and frameworks are checked in there
        return request

    @property
    def given(self) -> tuple[str, ...]:
        """Names of plan fields that were given; all others are free to be chosen.

        Bounds in `lengths` count as a given sequence length.
        """
        named = set(self.model_fields_set)
        if bounds_of(self.lengths):
            named.add("sequence_length")
        return tuple(name for name in PLAN_FIELDS if name in named)

    @property
    def plan(self) -> TrainingPlan:
        """The given settings, with defaults for the others. Raises InvalidRequest."""
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
        # Raises InvalidRequest if `packed` contradicts the lengths.
        if not self.lengths:
            return plan
        cap = self.sequence_length if "sequence_length" in self.model_fields_set else None
        plan = with_lengths(plan, self.lengths, cap)
        if self.packed is not None and self.packed is not plan.packed:
            raise fail("lengths", self.lengths, "packed_differs")
        return plan
