"""Memory of a quantization in answers, and the effort of making one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Beside,
    DerivedModel,
    Notes,
    Stated,
    VerdictWord,
    at,
    left_out,
)
from gpusizer.api.quality import QualityInfo
from gpusizer.core.byte_ranges import Amount
from gpusizer.fit.losses import quality_at
from gpusizer.memory.breakdown import Breakdown
from gpusizer.usecases.quantization_job import QuantizationJob


def likely_bytes(breakdown: Breakdown) -> dict[str, int]:
    """Return likely bytes by the names of `AmountsInfo`."""
    outside = breakdown.outside.likely
    parts = {
        "weights_bytes": breakdown.weights.likely,
        "kv_cache_bytes": breakdown.kv_cache.likely,
        "activations_bytes": breakdown.activations.likely,
        "overhead_bytes": breakdown.overhead.likely + outside,
    }
    return {**parts, "outside_budget_bytes": outside, "total_bytes": sum(parts.values())}


class AmountsInfo(DerivedModel):
    """Likely bytes by purpose."""

    weights_bytes: int
    kv_cache_bytes: int
    activations_bytes: int
    overhead_bytes: int
    outside_budget_bytes: int = Field(
        description="the part of the overhead that the engine takes on top of its share of the"
        " card, such as the CUDA context under vLLM"
    )
    total_bytes: int

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return likely_bytes(record)


class DraftInfo(AmountsInfo):
    """Part of an estimate's amounts that belongs to the draft model."""

    quant: str
    native: bool
    file_bytes: int
    gpus: int
    per_gpu: AmountsInfo
    provenance: dict[str, str]

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return {
            **likely_bytes(record.all_gpus),
            "quant": record.quant.slug,
            "native": record.native,
            "file_bytes": record.sizes.total,
            "gpus": record.split.gpus,
            "per_gpu": record.per_gpu,
            "provenance": record.all_gpus.provenance,
        }


class CapacityInfo(AnswerModel):
    """Capacity of the cache next to the buffers of this request, as vLLM logs it."""

    kv_cache_pool_bytes: int | None = at("kv_pool_bytes", "on each GPU")
    kv_cache_pool_tokens: int | None = at("kv_pool_tokens")
    max_concurrency: float | None = Field(description="sequences of this context")
    max_context: int | None = Field(description="tokens of a single sequence")


class EstimateInfo(AmountsInfo):
    """The memory of one quantization, over all GPUs used."""

    quant: str
    quant_name: str
    bits_per_weight: float = Field(description="in memory")
    native: bool = Field(description="the weights are the repository's own files")
    needs_original_weights: bool = Field(
        description="this checkpoint is quantized, and the quantization is made from another"
    )
    engine: str
    engine_version: str
    kv_dtype: str = Field(description="type behind auto, if checkpoint or weights decide it")
    kv_cache_bytes_per_token: int = Field(
        description="of this type, context and users, over all GPUs"
    )
    low_bytes: int = Field(description="low end of the band of `total_bytes`")
    high_bytes: int
    gpus: int
    per_gpu: AmountsInfo = Field(description="the fullest GPU")
    provenance: dict[str, str] = Field(
        description="of each part: exact (read from the files), derived (by a known rule) or"
        " fitted (constants from measurements)"
    )
    file_bytes: int = Field(description="of the weights' files")
    projector_bytes: int = Field(
        description="file of vision and audio encoders beside a GGUF file of text (mmproj)"
    )
    host_bytes: int = Field(description="weights that stay in system memory")
    kv_offload_bytes: Stated[int] = Field(
        description="system memory that keeps the cache of earlier prompts, where asked for"
    )
    quality: QualityInfo
    quantizing: QuantizingInfo | None = Field(
        description="what making it takes, where `quant` names it; null for what the repository"
        " stores and for layouts other than GGUF, AWQ and GPTQ"
    )
    draft: Stated[DraftInfo] = Field(description="the draft model's part")
    capacity: Stated[CapacityInfo] = Field(description="where a GPU is named")
    verdict: Stated[VerdictWord] = Field(description="on the GPU that is named first")
    headroom_bytes: int | None = left_out("there, on the fullest GPU")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        estimate, fit, workload = record.estimate, record.fit, context.workload
        assert workload is not None
        held, total = estimate.all_gpus, estimate.all_gpus.total
        tokens = workload.context * workload.concurrency
        on_gpu: Mapping[str, object] = {}
        if fit is not None:
            on_gpu = {
                "capacity": fit,
                "verdict": fit.verdict,
                "headroom_bytes": fit.headroom_bytes,
            }
        return Beside(
            estimate,
            **likely_bytes(held),
            **on_gpu,
            quant=estimate.quant.slug,
            quant_name=estimate.quant.name,
            bits_per_weight=record.bits_per_weight,
            needs_original_weights=record.needs_original_weights,
            engine=estimate.engine.slug,
            engine_version=workload.engine_version or estimate.engine.version,
            kv_cache_bytes_per_token=round(held.kv_cache.likely / tokens),
            low_bytes=total.low,
            high_bytes=total.high,
            gpus=estimate.split.gpus,
            provenance=held.provenance,
            file_bytes=record.file_bytes,
            projector_bytes=record.projector_bytes,
            quality=quality_at(estimate),
            quantizing=record.making,
            kv_offload_bytes=estimate.kv_offload_bytes or None,
        )


class QuantizingInfo(DerivedModel):
    """Effort of making a quantization of a repository.

    All amounts are null if the tool needs wider weights than these, and `notes` give the reason
    (docs/method.md).
    """

    method: str
    tool: str
    quant: str
    samples: int | None = Field(description="of its calibration")
    sequence_length: int | None
    gpu_bytes: int | None = Field(description="of one GPU, null where a CPU is enough")
    gpu_low_bytes: int | None
    gpu_high_bytes: int | None
    gpu_verdict: VerdictWord | None = Field(
        description="one board of a named GPU; null where none is needed, and on GPUs that the"
        " tool is not documented on"
    )
    ram_bytes: int | None = Field(description="of the machine")
    ram_low_bytes: int | None
    ram_high_bytes: int | None
    disk_bytes: int | None = Field(
        description="`download_bytes`, `intermediate_bytes` and `file_bytes` together"
    )
    download_bytes: int | None
    intermediate_bytes: int | None = Field(description="the 16-bit GGUF file on the way")
    file_bytes: int | None
    provenance: str | None
    command: str | None
    language: str | None = Field(description="of the command")
    notes: Notes = Field(description="all of it in sentences")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        making: QuantizationJob = record
        made, command = making.made, making.command
        disk = made if made.ram else None
        return {
            "method": made.method,
            "tool": made.tool,
            "quant": made.quant.slug,
            "samples": made.calibration and made.calibration.samples,
            "sequence_length": made.calibration and made.calibration.sequence_length,
            **ends("gpu", made.gpu),
            "gpu_verdict": making.gpu_verdict,
            **ends("ram", made.ram),
            "disk_bytes": disk and disk.disk_bytes,
            "download_bytes": disk and disk.download_bytes,
            "intermediate_bytes": disk and disk.intermediate_bytes,
            "file_bytes": disk and disk.file_bytes,
            "provenance": made.ram and made.ram.provenance.value,
            "command": command and command.text,
            "language": command and command.language,
            "notes": making.notes,
        }


def ends(name: str, amount: Amount | None) -> dict[str, int | None]:
    """Return the likely bytes of an amount and both ends of its band, or None for each."""
    return {
        f"{name}_bytes": None if amount is None else amount.likely,
        f"{name}_low_bytes": None if amount is None else amount.low,
        f"{name}_high_bytes": None if amount is None else amount.high,
    }
