"""Answers about GPUs: side by side (`compare`), and the catalogue (`gpus`)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    ConclusionInfo,
    Notes,
    at,
)
from gpusizer.api.gpu import GpuInfo, gpu_beside
from gpusizer.api.model_profile import ModelInfo
from gpusizer.api.ranked_gpu import MeasuredGpu
from gpusizer.api.rig import SiblingInfo
from gpusizer.api.workload import WorkloadInfo
from gpusizer.core.messages import Translate
from gpusizer.usecases.comparison import ComparedGpu, Comparison, GpuListing


class ComparedGpuInfo(GpuInfo):
    """A GPU of a comparison."""

    count: int | None
    fit: MeasuredGpu | None = Field(description="how the model runs on it, where one is named")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        item: ComparedGpu = record
        return Beside(gpu_beside(item.gpu), count=item.count, fit=item.ranked)


class CompareAnswer(AnswerModel):
    """The answer to `compare`."""

    answer: ConclusionInfo = at("conclusion")
    schema_version: int
    model: ModelInfo | None = at("profile")
    workload: WorkloadInfo | None
    sibling: SiblingInfo | None = Field(description="of a single GPU")
    gpus: list[ComparedGpuInfo] = at("items", "in the requested order")


class GpusAnswer(AnswerModel):
    """The answer to `gpus`."""

    schema_version: int
    count: int
    gpus: list[GpuInfo] = Field(description="the likeliest first where a query was asked")
    notes: Notes = Field(description="why no GPU was found, with near names")


def compare_answer(comparison: Comparison, say: Translate) -> CompareAnswer:
    """Return the answer of a comparison; `say` writes its sentences."""
    context = AnswerContext(say, comparison.profile, comparison.workload)
    return CompareAnswer.from_record(Beside(comparison, schema_version=SCHEMA_VERSION), context)


def gpus_answer(listing: GpuListing, say: Translate) -> GpusAnswer:
    """Return the answer of a listing; `say` writes its sentences."""
    listed = Beside(listing, schema_version=SCHEMA_VERSION, count=len(listing.gpus))
    return GpusAnswer.from_record(listed, AnswerContext(say))
