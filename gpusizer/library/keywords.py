"""Keyword arguments of the library: the fields of each request, by their groups.

Written by `python -m scripts.write_contract`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class ModelGroup(TypedDict, total=False):
    """Model."""

    revision: str | None
    file: str | None


class QuantizationGroup(TypedDict, total=False):
    """Quantization."""

    quant: str | Sequence[str] | None
    max_loss: str | None


class GpusGroup(TypedDict, total=False):
    """GPUs."""

    gpu: str | Sequence[str] | None
    gpu_count: int | None
    top: int | None


class MemoryOfTheNamedGpusGroup(TypedDict, total=False):
    """Memory of the named GPUs."""

    used_gb: float | None
    usable_gb: float | None


class MixedMachineGroup(TypedDict, total=False):
    """Mixed machine."""

    rig: str | None


class MachineOfTheNamedGpusGroup(TypedDict, total=False):
    """Machine of the named GPUs."""

    ram_gb: float | None
    ram_gb_per_s: float | None


class AnswerGroup(TypedDict, total=False):
    """Answer."""

    rank_by: str | None
    min_tok_s: float | None
    quantized_repos: str | None


class ModelCardGroup(TypedDict, total=False):
    """Model card."""

    card: bool | None
    as_card: bool | None


class WorkloadGroup(TypedDict, total=False):
    """Workload."""

    context: int | None
    concurrency: int | None
    kv_dtype: str | None
    text_only: bool | None
    images: int | None
    image_width: int | None
    image_height: int | None
    draft_tokens: int | None


class SpeculativeDecodingGroup(TypedDict, total=False):
    """Speculative decoding."""

    draft_model: str | None
    acceptance_rate: float | None


class EngineGroup(TypedDict, total=False):
    """Engine."""

    engine: str | None
    engine_version: str | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    expert_parallel: int | None
    memory_utilization: float | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    max_loras: int | None
    max_lora_rank: int | None
    enforce_eager: bool | None
    sampler: str | None
    prefix_caching: bool | None
    kv_offload_gb: float | None
    flash_attention: bool | None


class LlamaCppGroup(TypedDict, total=False):
    """Llama.cpp."""

    backend: str | None
    batch_size: int | None
    ubatch_size: int | None
    gpu_layers: int | None
    cpu_moe: bool | None
    importance_matrix: bool | None
    gguf_date: str | None


class DiffusersGroup(TypedDict, total=False):
    """Diffusers."""

    width: int | None
    height: int | None
    frames: int | None
    steps: int | None
    cpu_offload: str | None


class ServingTargetGroup(TypedDict, total=False):
    """Serving target."""

    requests_per_second: float | None
    prompt_tokens: int | None
    answer_tokens: int | None
    ttft_ms: float | None
    ttft_percentile: float | None
    shared_prefix_tokens: int | None
    peak_to_mean: float | None
    api_usd_per_million: float | None


class FiltersGroup(TypedDict, total=False):
    """Filters."""

    vendor: str | Sequence[str] | None
    segment: str | Sequence[str] | None
    software: str | Sequence[str] | None
    status: str | Sequence[str] | None
    rentable: bool | None
    max_usd: float | None
    max_usd_per_hour: float | None
    max_watts: float | None


class CostsGroup(TypedDict, total=False):
    """Costs."""

    hours_per_day: float | None
    usd_per_kwh: float | None
    amortisation_years: float | None
    host_usd: float | None
    gpu_usd: float | None
    gpu_usd_per_hour: float | None
    network_gbit_per_s: float | None


class DiskGroup(TypedDict, total=False):
    """Disk."""

    disk_gb_per_s: float | None


class SizeKeywords(
    ModelGroup,
    QuantizationGroup,
    GpusGroup,
    MemoryOfTheNamedGpusGroup,
    MixedMachineGroup,
    MachineOfTheNamedGpusGroup,
    AnswerGroup,
    ModelCardGroup,
    WorkloadGroup,
    SpeculativeDecodingGroup,
    EngineGroup,
    LlamaCppGroup,
    DiffusersGroup,
    ServingTargetGroup,
    FiltersGroup,
    CostsGroup,
    DiskGroup,
    total=False,
):
    """Keyword arguments of `size`."""


class TimeAndPriceGroup(TypedDict, total=False):
    """Time and price."""

    rank_by: str | None
    min_tok_s: float | None
    dataset_tokens: int | None
    epochs: float | None
    usd_per_kwh: float | None


class TrainingGroup(TypedDict, total=False):
    """Training."""

    method: str | None
    sequence_length: int | None
    micro_batch: int | None
    gradient_accumulation: int | None
    optimizer: str | None
    precision: str | None
    framework: str | None
    framework_version: str | None
    train_embeddings: bool | None
    ema: bool | None
    low_rank: int | None


class AdaptersGroup(TypedDict, total=False):
    """Adapters."""

    lora_rank: int | None
    lora_targets: str | Sequence[str] | None
    adapters_on_towers: bool | None
    base: str | None


class MemoryGroup(TypedDict, total=False):
    """Memory."""

    gradient_checkpointing: str | None
    offload: str | None
    fused_loss: bool | None
    flash_attention: bool | None
    compiled: bool | None
    packed: bool | None
    lengths: str | None
    optimizer_in_backward: bool | None


class ShardingGroup(TypedDict, total=False):
    """Sharding."""

    sharding: str | None
    tensor_parallel: int | None
    pipeline_parallel: int | None
    context_parallel: int | None


class ReinforcementLearningGroup(TypedDict, total=False):
    """Reinforcement learning."""

    rollout_share: float | None
    rollout_sleeps: bool | None


class TrainKeywords(
    ModelGroup,
    GpusGroup,
    MemoryOfTheNamedGpusGroup,
    TimeAndPriceGroup,
    TrainingGroup,
    AdaptersGroup,
    MemoryGroup,
    ShardingGroup,
    ReinforcementLearningGroup,
    total=False,
):
    """Keyword arguments of `train`."""


class CompareKeywords(
    ModelGroup,
    QuantizationGroup,
    MemoryOfTheNamedGpusGroup,
    MachineOfTheNamedGpusGroup,
    WorkloadGroup,
    SpeculativeDecodingGroup,
    EngineGroup,
    LlamaCppGroup,
    DiffusersGroup,
    CostsGroup,
    DiskGroup,
    total=False,
):
    """Keyword arguments of `compare`."""

    quantized_repos: str | None
    prompt_tokens: int | None
    answer_tokens: int | None
    shared_prefix_tokens: int | None


class ModelsGroup(TypedDict, total=False):
    """Models."""

    models: str | Sequence[str] | None
    purpose: str | None
    model_task: str | None
    license: str | Sequence[str] | None
    fold: bool | None
    from_disk: bool | None
    live: bool | None


class ModelsKeywords(
    ModelsGroup,
    QuantizationGroup,
    MemoryOfTheNamedGpusGroup,
    MixedMachineGroup,
    MachineOfTheNamedGpusGroup,
    WorkloadGroup,
    EngineGroup,
    LlamaCppGroup,
    DiffusersGroup,
    FiltersGroup,
    CostsGroup,
    DiskGroup,
    total=False,
):
    """Keyword arguments of `models-for`."""

    gpu_count: int | None
    top: int | None


class GpusKeywords(FiltersGroup, total=False):
    """Keyword arguments of `gpus`."""


class DeskKeywords(
    MachineOfTheNamedGpusGroup,
    MemoryOfTheNamedGpusGroup,
    FiltersGroup,
    DiskGroup,
    total=False,
):
    """Keyword arguments of `desk`."""

    network_gbit_per_s: float | None
