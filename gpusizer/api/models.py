"""Answer to `models-for`: the models that run on a card or a machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import Field

from gpusizer.advice.quant_tradeoff import quant_tradeoff
from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    ConclusionInfo,
    DerivedModel,
    NoteInfo,
    Notes,
    Number,
    OrNull,
    Rounded,
    Stated,
    VerdictWord,
    at,
    derived,
    left_out,
    said,
)
from gpusizer.api.quality import QualityOf
from gpusizer.api.rig import DiskInfo, MachineInfo
from gpusizer.api.workload import ModelsWorkloadInfo
from gpusizer.core.messages import NoteValue, Translate
from gpusizer.hub.published_results import StatedBy
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.model.tasks import Task, task_of_tag
from gpusizer.quality.boards import LEADING, MAKERS, SECOND, Group, WorkPurpose
from gpusizer.speed import Rate
from gpusizer.usecases.models_for.by_purpose import Scored
from gpusizer.usecases.models_for.live_use import LIVE_SOURCE, ORDER, ORDER_OF_PURPOSE
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.models_for.ordering import How, Runs, use_of


class RepositoryInfo(DerivedModel):
    """A repository that runs on the requested hardware, and its use."""

    repo_id: str = at("profile.repo_id")
    pipeline_tag: str | None = at("profile.pipeline_tag")
    parameters: int = at("profile.parameters")
    active_parameters: int = at("profile.active_parameters")
    license: str | None = at("profile.license")
    gated: bool = at("profile.gated")
    task: str
    verdict: VerdictWord
    how: How
    kind: str = at("candidate.member.kind")
    quant: str = at("config.estimate.quant.slug")
    quant_name: str = at("config.estimate.quant.name")
    native: bool = at("config.estimate.native")
    engine: str = at("config.estimate.engine.slug")
    engine_name: str = at("config.estimate.engine.name")
    created: date | None = at("use.created")
    downloads: int | None = at("use.downloads", "in 30 days")
    likes: int | None = at("use.likes")
    trending_score: float | None = at("use.trending_score")
    use_as_of: date | None = at("use.as_of")
    use_source: OrNull = at("use.source")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return _repository(record, context)


def _repository(runs: Runs, context: AnswerContext) -> Beside:
    return Beside(runs, use=use_of(runs.candidate.member.repo_id, context.uses))


class FamilyInfo(AnswerModel):
    """A model at one size, over its repositories."""

    name: str
    repositories: Annotated[int, derived(lambda members, _: len(members))] = at("members")
    created: date | None = at("use.created")
    downloads: int | None = at("use.downloads")
    likes: int | None = at("use.likes")
    trending_place: int | None = at("use.trending_place", "from 1, of a live listing alone")


class BoardScoreInfo(AnswerModel):
    """Score of a model on a board."""

    board: str = at("board.board")
    score: float
    low: float | None = Field(description="end of the board's interval, null as `high` without")
    high: float | None
    setting: str = Field(description="how this model was asked")
    share: Rounded = Field(description="of the board's other open models, those that score below")
    by: Stated[StatedBy] = Field(description="who reports it, on the Hub's leaderboards")


class ScoresInfo(AnswerModel):
    """Scores of a model on the boards of a purpose; boards are never averaged."""

    group: Group = at("measured.group", "the first board that has it")
    runs_well: bool = Field(description="as fast as one reads or speaks")
    leading: BoardScoreInfo | None = at("measured.leading")
    second: BoardScoreInfo | None = at("measured.second")
    maker: BoardScoreInfo | None = at("measured.maker", "what its own maker reports")
    hub: Stated[BoardScoreInfo] = at(
        "measured.hub", "on a leaderboard of the Hub, which orders nothing"
    )
    boards_disagree: bool | None = at("measured.boards_disagree", "null unless both have it")
    at_full_precision: bool = Field(
        description="boards measured another precision than it runs in here"
    )


class ListedFamilyInfo(RepositoryInfo):
    """A family that runs, by the repository that most people run."""

    rank: int
    context: int = Field(description="the one asked for, or the default within the model's limit")
    headroom_bytes: int | None = Field(description="to spare on the fullest device")
    max_context: int | None = Field(description="tokens of one sequence that surely fits")
    max_concurrency: Number | None = at("most_users", "sequences of `context` that surely fit")
    decode_tokens_per_second: Rate | None = at("decode")
    prefill_tokens_per_second: Rate | None = at("prefill")
    quality: QualityOf = at("config.estimate")
    choice: Notes = Field(description="what decided for the quantization")
    scores: ScoresInfo | None = at("scored", "null without a purpose")
    read_tokens_per_second: Stated[Rate] = Field(
        description="of embedding models, where a purpose is named"
    )
    audio_seconds_per_second: Stated[Rate] = Field(description="of recognisers, likewise")
    picture_seconds: Stated[Rate] = Field(description="of a picture, likewise")
    per_gpu_bytes: int = at("config.fullest_gpu_bytes")
    family: FamilyInfo
    copies: list[RepositoryInfo] = Field(description="its other repositories that run")
    ram_bytes: Stated[int] = Field(description="of a machine, as `disk` and `flags`")
    disk: DiskInfo | None = left_out("what a token reads from the disk")
    flags: Stated[list[str]] = Field(description="of llama-server")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        row: RunsOn = record
        runs, fit, arranged = row.runs, row.fit, row.runs.config.arranged
        on_rig: dict[str, object] = {}
        if context.on_rig:
            on_rig = {
                "ram_bytes": row.ram_bytes,
                "disk": arranged and arranged.disk,
                "flags": machine_flags(runs.study.workload, runs.config),
            }
        return Beside(
            _repository(runs, context),
            rank=row.rank,
            context=row.context,
            headroom_bytes=fit.headroom_bytes,
            max_context=row.max_context,
            most_users=row.most_users,
            decode=row.decode,
            prefill=row.prefill,
            choice=quant_tradeoff(runs.study, fit.config),
            scored=row.scored,
            family=row.family,
            copies=row.family.copies,
            **_pace(row.scored),
            **on_rig,
        )


# fields for the speed of models that write no text
_PACES: Mapping[Task, str] = {
    "embedding": "read_tokens_per_second",
    "speech": "audio_seconds_per_second",
    "image": "picture_seconds",
}


def _pace(scored: Scored | None) -> dict[str, Rate | None]:
    if scored is None or scored.pace is None or scored.runs.task not in _PACES:
        return {}
    task = scored.runs.task
    return {_PACES[task]: scored.picture_seconds if task == "image" else scored.pace}


class BoardInfo(AnswerModel):
    """A published table of scores, of one version."""

    board: str
    version: str
    unit: str
    higher_is_better: bool
    setting: str = Field(description="how all of its models were asked")
    by_maker: bool = Field(description="each figure is the model's own maker's")
    source_url: str
    date: date
    terms: str = Field(description="under which it may be shown")
    models: int = Field(description="open models that it has")


class PickInfo(DerivedModel):
    """A model to pick, with the reason."""

    repo_id: str
    reason: NoteInfo

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        row, why = record
        return {"repo_id": row.runs.profile.repo_id, "reason": said(why, context)}


class WorkPurposeInfo(AnswerModel):
    """Boards of a purpose, null if it has none, and models to pick from."""

    name: WorkPurpose
    leading: BoardInfo | None = Field(description="by which models are ordered")
    second: BoardInfo | None = Field(description="read beside the first")
    makers: BoardInfo | None = Field(description="of makers' own figures, which order nothing")
    hub: Stated[BoardInfo] = Field(
        description="leaderboard of the Hub, where it was read: what repositories publish"
    )
    picks: list[PickInfo] = Field(description="up to three")


class UseInfo(DerivedModel):
    """Figures of use that decide the order."""

    live: bool = Field(description="the Hub's listing of now is among them")
    as_of: date | None
    source: str | None

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return Beside(record, source=LIVE_SOURCE if record.live else None)


class TrendingInfo(AnswerModel):
    """A model that trends on the Hub and is not stored: its ID has yet to be sized."""

    repo_id: str
    pipeline_tag: str | None
    parameters: int | None = Field(
        description="the Hub's count, in which packed 4-bit weights count by their containers"
    )
    license: str | None
    gated: bool
    created: date | None
    downloads: int | None
    likes: int | None
    trending_score: float | None
    task: Annotated[str | None, derived(lambda tag, _: task_of_tag(tag))] = at("pipeline_tag")


class UnreadInfo(DerivedModel):
    """An ID that could not be read, and why."""

    repo_id: str
    code: str
    fields: dict[str, NoteValue | list[str]]

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        repo_id, error = record
        return {"repo_id": repo_id, "code": error.code, "fields": error.fields}


class ModelsAnswer(DerivedModel):
    """Answer to `models-for`.

    A model runs in the way that docs/recommendation.md prefers; models whose limit is below a
    requested context are left out.
    """

    answer: ConclusionInfo = at("conclusion")
    schema_version: int
    gpu: str | None = at(
        "asked_gpu.slug", "null where a machine was asked about", or_at="asked_gpu"
    )
    gpu_name: str | None = at("asked_gpu.name", or_at="asked_gpu")
    count: int | None
    rig: MachineInfo | None = Field(description="null where a GPU was asked about")
    workload: ModelsWorkloadInfo
    order: str
    purpose: WorkPurposeInfo | None = Field(description="null without one")
    use: UseInfo = at("now")
    considered: int = Field(description="models that were looked at, after the filters")
    found: int = Field(description="models that run")
    families: int = Field(description="their families")
    by_task: dict[str, dict[str, int | str]] = Field(
        description="for each task how many run, by verdict, and the first of them in order"
    )
    models: list[ListedFamilyInfo] = at("rows", "the first families in the order named")
    trending: list[TrendingInfo] = at("newcomers", "trending on the Hub and not stored")
    unread: list[UnreadInfo]
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        answer: ModelsFor = record
        request, machine = answer.request, answer.machine
        workload = Beside(request.workload, request=request, licenses=request.licenses or None)
        return Beside(
            answer,
            schema_version=SCHEMA_VERSION,
            order=ORDER if request.work is None else ORDER_OF_PURPOSE,
            purpose=_purpose(answer),
            asked_gpu=None if answer.is_rig else machine.gpu,
            count=None if answer.is_rig else machine.boards,
            rig=machine if answer.is_rig else None,
            workload=workload,
            found=len(answer.found),
            families=len(answer.families),
        )


def _purpose(answer: ModelsFor) -> dict[str, object] | None:
    purpose = answer.request.work
    if purpose is None:
        return None
    named = {"leading": LEADING, "second": SECOND, "makers": MAKERS}
    boards = {role: answer.boards.board(of.get(purpose)) for role, of in named.items()}
    return {
        "name": purpose,
        **boards,
        "hub": answer.boards.hub_board,
        "picks": answer.picked,
    }


def models_answer(answer: ModelsFor, say: Translate) -> ModelsAnswer:
    """Return the answer of what runs; `say` writes its sentences."""
    context = AnswerContext(say, uses=answer.now.uses, on_rig=answer.is_rig)
    return ModelsAnswer.from_record(answer, context)
