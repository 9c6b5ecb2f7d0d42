"""The request as answers repeat it, with every default visible."""

from __future__ import annotations

from typing import Annotated, Literal

from gpusizer.api.base import AnswerModel, OrNull, Stated, at, derived
from gpusizer.gpus.costs import CostAssumptions
from gpusizer.quality.boards import WorkPurpose


class WorkloadInfo(AnswerModel):
    """A run. Each field has the meaning of the request's field of that name."""

    context: int
    concurrency: int
    kv_dtype: str
    engine: str | None
    engine_version: str | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    expert_parallel: int | None
    memory_utilization: float | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    batch_size: int | None
    ubatch_size: int | None
    max_loras: int
    max_lora_rank: int
    enforce_eager: bool
    sampler: str
    prefix_caching: bool | None
    kv_offload_gb: float
    text_only: bool
    images: int
    image_width: int
    image_height: int
    image_tokens: int
    draft_tokens: int
    draft_model: str
    acceptance_rate: float | None
    flash_attention: bool
    backend: str
    gpu_layers: int | None
    cpu_moe: bool
    importance_matrix: bool | None
    gguf_date: str | None
    width: int | None
    height: int | None
    frames: int | None
    steps: int | None
    cpu_offload: str


_Names = Annotated[Stated[list[str]], derived(lambda names, _: names or None)]


class FiltersInfo(AnswerModel):
    """Filters of the ranking, as far as the request states some."""

    vendor: _Names = at("vendors")
    segment: _Names = at("segments")
    software: _Names
    status: _Names = at("statuses")
    rentable: Stated[bool]
    max_usd: Stated[float]
    max_usd_per_hour: Stated[float]
    max_watts: Stated[float]


class SizeWorkloadInfo(WorkloadInfo):
    """The request of `size`, read from a workload and its request."""

    model: str = at("request.model")
    revision: str
    quant: list[str] = at("request.quants")
    max_loss: str = at("request.max_loss")
    gpu: list[str] = at("request.gpus")
    gpu_count: int | None = at("request.gpu_count")
    rig: OrNull = at("request.rig")
    rank_by: str = at("request.rank_by")
    min_tok_s: float | None = at("request.min_tok_s")
    top: int = at("request.top")
    filters: FiltersInfo = at("request.filters")
    costs: CostAssumptions = at("request.assumptions")


class ModelsWorkloadInfo(WorkloadInfo):
    """The request of `models-for`, read from a workload and its request."""

    quant: list[str] = at("request.quants")
    max_loss: str = at("request.max_loss")
    fold: bool = at("request.fold")
    from_disk: bool = at("request.from_disk")
    top: int = at("request.top")
    model_task: OrNull = at("request.task")
    license: list[str] | None = at("licenses")
    purpose: WorkPurpose | None = at("request.work")


class TrainWorkloadInfo(AnswerModel):
    """The request of `train`, read from a plan and its request.

    Each field has the meaning of the request's field of that name.
    """

    task: Literal["train"]
    model: str = at("request.model")
    revision: str
    gpu: list[str] = at("request.gpus")
    gpu_count: int | None = at("request.gpu_count")
    rank_by: str = at("request.rank_by")
    min_tok_s: float | None = at("request.min_tok_s")
    top: int = at("request.top")
    dataset_tokens: int = at("request.dataset_tokens")
    epochs: float = at("request.epochs")
    usd_per_kwh: float = at("request.usd_per_kwh")
    method: str
    optimizer: str
    precision: str
    sequence_length: int
    micro_batch: int
    gradient_checkpointing: str
    gradient_accumulation: int
    lora_rank: int
    lora_targets: list[str]
    adapters_on_towers: bool | None
    base: str
    train_embeddings: bool | None
    sharding: str
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    offload: str
    fused_loss: bool | None
    flash_attention: bool
    compiled: bool
    packed: bool | None
    lengths: str | None
    optimizer_in_backward: bool
    ema: bool
    low_rank: int
    rollout_share: float | None
    rollout_sleeps: bool
    framework: str
    framework_version: str
