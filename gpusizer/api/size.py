"""The answer to `size`: a model, its memory at every quantization, and ranked GPUs."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    ConclusionInfo,
    DerivedModel,
    Notes,
    Stated,
    at,
)
from gpusizer.api.estimate import EstimateInfo
from gpusizer.api.model_card import ModelCardInfo
from gpusizer.api.model_profile import DraftModelInfo, ModelInfo
from gpusizer.api.ranked_gpu import AlternativeGpu, MeasuredGpu
from gpusizer.api.rig import RigInfo, SiblingInfo
from gpusizer.api.serving_plan import ServingPlanInfo
from gpusizer.api.workload import SizeWorkloadInfo
from gpusizer.core.messages import Translate
from gpusizer.usecases.report import Report
from gpusizer.usecases.starting import start_of_report


class QuantizedRepoInfo(AnswerModel):
    """A published quantization of the model, as the Hub lists it."""

    repo_id: str
    format: str = at("form")
    downloads: int = Field(description="in the last 30 days")
    likes: int
    weight_bytes: int | None = Field(description="of a GGUF repository the sum of all widths")


class StartInfo(AnswerModel):
    """The line that starts the model as the answer concludes, as people start it."""

    engine: str = at("line.engine")
    command: str = at("line.text", "empty if nothing starts it; `notes` say why")
    language: str = at("line.language", "bash or python")
    install: str = at("install", "address of the engine's page on installing it")
    published: str = at("listing", "address of the Hub's list of published copies; may be empty")
    needs_publisher: bool = at("is_listed", "PUBLISHER in the command is to be chosen from there")
    make: Stated[str] = at("made.text", "commands that make the weights first")
    notes: Notes = at("line.notes")


class SizeAnswer(DerivedModel):
    """The answer to `size`."""

    answer: ConclusionInfo = at("conclusion")
    schema_version: int
    model: ModelInfo = at("profile")
    workload: SizeWorkloadInfo = Field(description="the request with every default made visible")
    estimates: list[EstimateInfo] = Field(description="one for each quantization")
    ranking: list[MeasuredGpu] = Field(description="GPUs, best first")
    alternatives: list[AlternativeGpu] = Field(
        description="the cheapest, the fastest or the cheapest to rent; for many users of one named"
        " GPU for servers, the fastest number of boards"
    )
    sibling: SiblingInfo | None
    notes: Notes
    start: Stated[StartInfo] = Field(description="if anything of it runs")
    draft_model: Stated[DraftModelInfo] = at("profile.draft")
    rig: Stated[RigInfo] = Field(description="where the request describes a machine")
    quantized_repos: Stated[list[QuantizedRepoInfo]] = Field(description="where asked for")
    serving_plan: Stated[ServingPlanInfo] = Field(description="for a rate of requests")
    model_card: ModelCardInfo | None = at(
        "card", "null where none was read, left out where it was not wanted", default=None
    )

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        report: Report = record
        workload = Beside(report.workload, request=report.request, revision=report.profile.revision)
        card = {"card": report.model_card} if report.request.card else {}
        more = {"start": start_of_report(report), "workload": workload, **card}
        return Beside(report, schema_version=SCHEMA_VERSION, **more)


def size_answer(report: Report, say: Translate) -> SizeAnswer:
    """Return the answer of a report; `say` writes its sentences."""
    return SizeAnswer.from_record(report, AnswerContext(say, report.profile, report.workload))
