"""TrainingPlan: how a model is trained, with every setting resolved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpusizer.model.profile import ModelProfile

METHODS = ("full", "lora", "qlora", "dora")
PRECISIONS = ("bf16", "mixed", "master", "fp32")
CHECKPOINTING = ("none", "selective", "full")
SHARDINGS = ("none", "ddp", "zero1", "zero2", "zero3", "fsdp")
OFFLOADS = ("none", "optimizer", "parameters", "model", "activations", "all", "nvme")
BASES = ("auto", "bf16", "fp32", "nf4", "nf4-dq", "int4", "int8", "native")
ADAPTED = ("lora", "qlora", "dora")

DEFAULT_SEQUENCE = 2048
DEFAULT_RANK = 16
ALL_LINEAR = "all-linear"


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Settings of one training run.

    A field means what the request's field of its name does (`docs/contract.md`). Comments give what
    a request need not know.
    """

    # "lora" and "dora" train adapters beside a frozen base, "qlora" beside one of 4 bits.
    method: str = "lora"
    optimizer: str = "adamw"  # slug of `optimizers.OPTIMIZERS`
    # "bf16": weights, gradients and states in 16 bits; "mixed": FP32 weights cast to 16 bits for
    # every product; "master": 16-bit weights with FP32 copies for the optimizer and FP32 gradients;
    # "fp32": everything.
    precision: str = "bf16"
    sequence_length: int = DEFAULT_SEQUENCE
    micro_batch: int = 1
    # "full" keeps one vector per token and layer, "selective" drops what is cheap to compute again,
    # "none" keeps everything.
    gradient_checkpointing: str = "full"
    gradient_accumulation: int = 1
    lora_rank: int = DEFAULT_RANK
    lora_targets: tuple[str, ...] = (ALL_LINEAR,)
    adapters_on_towers: bool | None = None
    base: str = "auto"
    train_embeddings: bool | None = None
    sharding: str = "none"
    gpus: int = 1  # all; tensor, pipeline and context parallelism take a part of them
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    context_parallel: int = 1
    # "model" means weights, gradients and states, as FSDP's CPUOffloadPolicy and DeepSpeed take
    # them.
    offload: str = "none"
    # Liger, cut cross-entropy, chunked; None if the framework decides.
    fused_loss: bool | None = None
    flash_attention: bool = True
    compiled: bool = False  # norms and activation functions are fused
    # All sequences have the full length, so blocks of memory are reused.
    packed: bool | None = None
    # "fixed", "spread" up to the sequence length, bounds as "512-4096", or None; `packed` and
    # `sequence_length` agree with it.
    lengths: str | None = None
    optimizer_in_backward: bool = False
    ema: bool = False  # in FP32
    low_rank: int = 128
    rollout_share: float | None = None
    rollout_sleeps: bool = False
    # Slug of `stacks.csv`, whose habits decide the copies that are made.
    framework: str = "transformers"
    framework_version: str = ""

    @property
    def adapted(self) -> bool:
        """Whether adapters are trained and the weights are frozen."""
        return self.method in ADAPTED

    @property
    def model_parallel(self) -> int:
        """GPUs that divide the model: weights and all that belongs to them."""
        return self.tensor_parallel * self.pipeline_parallel

    @property
    def split(self) -> int:
        """GPUs that one sequence needs; a multiple of them divides batches too."""
        return self.model_parallel * self.context_parallel

    @property
    def data_parallel(self) -> int:
        """GPUs that divide the batch."""
        return max(1, self.gpus // self.split)

    @property
    def shards(self) -> int:
        """GPUs over which states can be divided: context parallel ones hold equal weights."""
        return self.data_parallel * self.context_parallel

    @property
    def tokens(self) -> float:
        """Tokens that one GPU processes in one step."""
        return self.sequence_length * self.micro_batch / self.context_parallel

    @property
    def compute_bytes(self) -> int:
        """Bytes of an activation."""
        return 4 if self.precision == "fp32" else 2

    def changed(self, **values: Any) -> TrainingPlan:
        """Return the plan with other values."""
        return replace(self, **values)


def alone(plan: TrainingPlan) -> TrainingPlan:
    """Return the plan without sharding if it has one GPU."""
    # DeepSpeed keeps its buffers even on one GPU.
    single = plan.gpus == 1 and plan.sharding in ("ddp", "fsdp")
    return plan.changed(sharding="none") if single else plan


def with_precision(plan: TrainingPlan, *, given: bool) -> TrainingPlan:
    """Return the plan with the precision of its method and sharding, unless it is `given`."""
    if given:
        return plan
    # DeepSpeed keeps FP32 copies of parameters that are trained in full, FSDP in trainers FP32
    # weights (accelerate raises trained weights to FP32 under FSDP with mixed precision since
    # 0.34).
    derived = "bf16"
    if not plan.adapted and plan.sharding.startswith("zero"):
        derived = "master"
    elif not plan.adapted and plan.sharding == "fsdp":
        derived = "mixed"
    return plan.changed(precision=derived)


def within(plan: TrainingPlan, profile: ModelProfile, given: tuple[str, ...]) -> TrainingPlan:
    """Return the plan with a default sequence no longer than the model's limit."""
    longest = profile.max_context
    if "sequence_length" in given or longest is None:
        return plan
    return plan.changed(sequence_length=min(DEFAULT_SEQUENCE, longest))
