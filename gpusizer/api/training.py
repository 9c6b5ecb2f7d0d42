"""Answer to `train`: the memory of fine-tuning, ways to save some, and ranked GPUs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    Clauses,
    ConclusionInfo,
    DerivedModel,
    Digits,
    NoteInfo,
    Notes,
    OrNull,
    Rounded,
    Stated,
    VerdictWord,
    at,
    derived,
    said,
)
from gpusizer.api.estimate import ends
from gpusizer.api.model_profile import ModelInfo
from gpusizer.api.prices import TrainingPriceInfo
from gpusizer.api.ranked_gpu import ConditionsInfo
from gpusizer.api.workload import TrainWorkloadInfo
from gpusizer.core.messages import Translate
from gpusizer.core.units import significant
from gpusizer.speed import Rate
from gpusizer.training.mitigations import TrainingLimits
from gpusizer.training.optimizers import OPTIMIZERS
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.ranking import RankedTraining
from gpusizer.usecases.training_report import TrainingReport

# amounts that add up to the memory of a GPU
PARTS = (
    *("weights", "gradients", "optimizer", "activations", "logits", "buffers"),
    *("reserve", "context"),
)


class BytesPerParameterInfo(AnswerModel):
    """Bytes of a parameter, before any division over GPUs."""

    weights: Digits
    gradients: Digits
    optimizer: Digits
    masters: Digits
    total: Digits = Field(description="of a trained one")
    frozen: Rounded


class TrainingMemoryInfo(DerivedModel):
    """Likely bytes of each part on a GPU; the total with its band, as nvidia-smi would show it."""

    weights_bytes: int = Field(
        description="adapters too, and tables of rotary positions where a framework keeps them in"
        " every layer"
    )
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    logits_bytes: int
    buffers_bytes: int
    reserve_bytes: int
    context_bytes: int
    total_bytes: int
    low_bytes: int
    high_bytes: int
    allocated_bytes: int = Field(description="as PyTorch counts it, as `reserved_bytes`")
    allocated_low_bytes: int
    allocated_high_bytes: int
    reserved_bytes: int
    reserved_low_bytes: int
    reserved_high_bytes: int
    loading_bytes: int = Field(description="before the first step")
    loading_low_bytes: int
    loading_high_bytes: int
    needed_bytes: int = Field(
        description="without `reclaimable_bytes`: verdicts and the ladder compare it with the GPU"
    )
    needed_low_bytes: int
    needed_high_bytes: int
    reclaimable_bytes: int

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        memory: TrainingMemory = record
        total = memory.total
        return {
            **{f"{name}_bytes": getattr(memory, name).likely for name in PARTS},
            "total_bytes": total.likely,
            "low_bytes": total.low,
            "high_bytes": total.high,
            **ends("allocated", memory.allocated),
            **ends("reserved", memory.reserved),
            **ends("loading", memory.loading),
            **ends("needed", memory.needed),
            "reclaimable_bytes": memory.reclaimable.likely,
        }


class TrainingEstimateInfo(DerivedModel):
    """A method with its memory, over all GPUs."""

    method: str = at("plan.method")
    precision: str = at("plan.precision")
    optimizer: str = at("plan.optimizer")
    sharding: str = at("plan.sharding")
    gpus: int = at("plan.gpus")
    asked: bool = Field(description="it is the method of the request")
    base: OrNull = at("memory.base", "how frozen weights are held")
    trainable_parameters: int = at("memory.trainable")
    bytes_per_parameter: BytesPerParameterInfo = at("per_parameter")
    total_bytes: int
    low_bytes: int
    high_bytes: int
    per_gpu: TrainingMemoryInfo = at("memory")
    peak_phase: str = at("memory.phase", "loss, backward, update, or loading before the first step")
    host_bytes: int = at("memory.host")
    nvme_bytes: int = at("memory.nvme")
    provenance: dict[str, str]
    optimizer_source: str

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        memory, plan = record.memory, record.plan
        all_gpus = memory.total.times(plan.gpus)
        return Beside(
            record,
            total_bytes=all_gpus.likely,
            low_bytes=all_gpus.low,
            high_bytes=all_gpus.high,
            provenance={name: getattr(memory, name).provenance.value for name in PARTS},
            optimizer_source=OPTIMIZERS[plan.optimizer].source,
        )


class RungInfo(NoteInfo, DerivedModel):
    """A mitigation, with bytes of one GPU."""

    saving_bytes: int = Field(description="on top of those before it")
    total_bytes: int = Field(description="needed after it")
    fits: bool | None
    saving_alone_bytes: int = at("alone_bytes")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return Beside(record, **said(record.note, context))


class TrainingScoreInfo(ConditionsInfo):
    """Conditions and figures behind a recommendation to train (docs/recommendation.md)."""

    min_tok_s: Annotated[float, derived(lambda rate, _: significant(rate))] = at("enough")
    trains: bool | None = Field(description="multiplies 16-bit matrices in hardware, in BF16")
    linked: bool = Field(description="one board, or boards that a fabric joins")
    measured: bool = at("evident")
    usd: float | None = at("rent_usd")
    most_usd: float | None = at("value_usd")


class TrainingDegreesInfo(AnswerModel):
    """Degrees of parallelism."""

    data: int = at("data_parallel")
    tensor: int = at("tensor_parallel")
    pipeline: int = at("pipeline_parallel")
    context: int = at("context_parallel")


class RolloutInfo(AnswerModel):
    """Likely bytes of both peaks of reinforcement learning, on a GPU."""

    engine_bytes: int
    weights_bytes: int
    generation_bytes: int = at("generation.likely")
    update_bytes: int = at("update.likely")


class TrainingGpu(DerivedModel):
    """A place in a ranking of GPUs to train on."""

    rank: int
    gpu: str = at("fit.gpu.slug")
    gpu_name: str = at("fit.gpu.name")
    count: int = at("fit.count")
    verdict: VerdictWord = at("fit.verdict")
    headroom_bytes: int = at("fit.headroom_bytes")
    method: str = at("fit.plan.method")
    framework: str = at("fit.plan.framework")
    sharding: str = at("fit.plan.sharding")
    parallelism: TrainingDegreesInfo = at("fit.plan")
    per_gpu: TrainingMemoryInfo = at("fit.memory")
    host_bytes: int = at("fit.memory.host")
    nvme_bytes: int = at("fit.memory.nvme")
    tokens_per_second: Rate | None = at("rate", "of all GPUs together")
    hours: float | None = at("cost.hours")
    energy_kwh: float | None = at("cost.energy_kwh")
    price: TrainingPriceInfo
    power_watts: float | None
    score: TrainingScoreInfo
    why: Clauses
    reasons: Notes
    largest: Stated[TrainingLimits] = Field(description="of GPUs that were named")
    rollout: Stated[RolloutInfo] = at("fit.rollout")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return _training_place(record)


def _training_place(place: RankedTraining, **more: object) -> Beside:
    cost, watts = place.cost, place.fit.gpu.power_watts
    price = Beside(place.costs, usd=cost.usd, energy_usd=cost.energy_usd)
    power = None if watts is None else watts * place.fit.count
    return Beside(place, price=price, power_watts=power, **more)


class TrainingAlternativeGpu(TrainingGpu):
    """A place that is the best of a kind."""

    kind: str = Field(description="cheapest to buy, fastest, or rent")
    is_first: bool

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        about = {"kind": record.kind, "is_first": record.is_first, "why": record.why}
        return _training_place(record.item, **about)


class TrainAnswer(DerivedModel):
    """The answer to `train`."""

    answer: ConclusionInfo = at("conclusion")
    schema_version: int
    model: ModelInfo = at("profile")
    workload: TrainWorkloadInfo = Field(description="the request with every default made visible")
    estimates: list[TrainingEstimateInfo] = Field(description="one for each method")
    ladder: list[RungInfo] = Field(description="what would save memory, and how much")
    ranking: list[TrainingGpu] = Field(description="GPUs, best first")
    alternatives: list[TrainingAlternativeGpu]
    cheapest: list[TrainingGpu] = Field(
        description="the GPUs on which the run costs least, for each method"
    )
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        report: TrainingReport = record
        request, revision = report.request, report.profile.revision
        workload = Beside(report.plan, task="train", request=request, revision=revision)
        return Beside(report, schema_version=SCHEMA_VERSION, workload=workload)


def train_answer(report: TrainingReport, say: Translate) -> TrainAnswer:
    """Return the answer of a report; `say` writes its sentences."""
    return TrainAnswer.from_record(report, AnswerContext(say))
