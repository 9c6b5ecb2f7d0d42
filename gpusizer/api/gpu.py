"""A GPU in answers: its facts, its uses and its costs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Beside,
    DerivedModel,
    Notes,
    Number,
    OrNull,
    at,
    derived,
    joined,
)
from gpusizer.core.units import GB, TERA
from gpusizer.gpus import Gpu, Price
from gpusizer.gpus.costs import RentalQuote, rental_quote
from gpusizer.gpus.purpose import purpose_of


def _gigabytes(rate: float | None, _: AnswerContext) -> float | None:
    return None if rate is None else round(rate / GB, 6)


def _tera(rate: float | None, _: AnswerContext) -> float | None:
    return None if rate is None else round(rate / TERA, 6)


GbPerSecond = Annotated[float | None, derived(_gigabytes)]
Tera = Annotated[float | None, derived(_tera)]


class CriterionInfo(AnswerModel):
    """One figure against its threshold."""

    name: str
    level: str
    value: float | None = Field(description="null where the data sheet does not say")
    needs: Number
    unit: str
    met: bool | None


class PurposeInfo(AnswerModel):
    """Uses of a GPU, and the criteria behind them."""

    label: str
    training: str | None
    inference: str | None
    criteria: list[CriterionInfo]
    message: Annotated[str, derived(lambda notes, context: joined(notes(), context, " "))] = at(
        "notes"
    )


class GpuInfo(DerivedModel):
    """A GPU of the catalogue. Rates are dense and of the whole board; the unit is in each name."""

    slug: str
    name: str
    aliases: list[str]
    vendor: str
    segment: str
    architecture: str
    release_year: int | None
    status: str
    form_factor: str
    software: str
    memory_type: str
    unified_memory: bool
    ecc: str
    devices_per_board: int
    nvlink: bool | None
    interconnect_domain: int | None = Field(description="most boards that one fabric joins")
    multi_gpu_note: str
    bf16_support: bool
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: str
    power_watts: float | None
    confidence: str
    sources: str
    notes: str
    statements: Notes = Field(description="what the request states of it")
    memory_gb: float = at("memory_marketing_gb", "as on the box")
    memory_usable_bytes: int = at("memory_bytes", "as the driver reports it")
    memory_usable_basis: str = at("memory_basis")
    memory_usable_note: str = at("memory_note")
    device_memory_usable_bytes: int = at("device_memory_bytes")
    device_memory_free_bytes: int | None = at("free_bytes", "where a part is in use")
    street_price: Price | None = at("street")
    launch_price: Price | None = at("launch")
    launch_price_note: str = at("launch_note")
    rent_price_per_hour: Price | None = at("rent")
    similar_price: Price | None = at("similar")
    memory_bandwidth_gb_per_s: GbPerSecond = at("bandwidth_bytes_per_second")
    pcie_gb_per_s: GbPerSecond = at("pcie_bytes_per_second", "both directions together")
    nvlink_gb_per_s: GbPerSecond = at("nvlink_bytes_per_second")
    interconnect_gb_per_s: GbPerSecond = at("interconnect_bytes_per_second")
    fp32_tflops: Tera = at("fp32_flops")
    fp16_tflops: Tera = at("fp16_flops")
    fp16_tensor_tflops_dense: Tera = at("fp16_tensor_flops")
    fp16_tensor_tflops_dense_fp16_accumulate: Tera = at("fp16_tensor_fp16acc_flops")
    bf16_tflops_dense: Tera = at("bf16_flops")
    tf32_tflops_dense: Tera = at("tf32_flops")
    int8_tops_dense: Tera = at("int8_ops")
    fp8_tflops_dense: Tera = at("fp8_flops")
    fp4_tflops_dense: Tera = at("fp4_flops")
    compute_capability: OrNull
    interconnect: OrNull
    memory_torch_bytes: int = Field(description="as PyTorch counts it")
    memory_torch_basis: str
    memory_torch_note: str
    purpose: PurposeInfo
    rental: RentalQuote | None

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return gpu_beside(record)


def gpu_beside(gpu: Gpu) -> Beside:
    """Return a GPU with its purpose and its rent."""
    return Beside(
        gpu,
        memory_torch_bytes=gpu.torch_memory_bytes or gpu.memory_bytes,
        memory_torch_basis=gpu.torch_memory_basis or gpu.memory_basis,
        memory_torch_note=gpu.torch_memory_note or gpu.memory_note,
        purpose=purpose_of(gpu),
        rental=rental_quote(gpu),
    )
