"""The answer to `desk`: several models on one machine, and the files that start them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    ConclusionInfo,
    DerivedModel,
    Notes,
    Sentence,
    at,
)
from gpusizer.api.quality import QualityInfo
from gpusizer.api.rig import MachineInfo
from gpusizer.core.messages import Translate
from gpusizer.fit.losses import quality_at
from gpusizer.gpus.costs.plan import LoadTimes
from gpusizer.usecases.desk import Desk, DeskModel

_Free = Annotated[int, Field(description="before any model is loaded")]
_Held = Annotated[int, Field(description="by models that stay, at the high end of every band")]
_There = Annotated[
    list[int], Field(description="numbers of the models that stay there, in starting order")
]


class DeskDeviceInfo(AnswerModel):
    """A device and who lives on it."""

    number: int = Field(description="from 0, in the order of the machine's GPUs")
    gpu: str = at("gpu.slug")
    memory_bytes: int = at("gpu.device_memory_bytes")
    free_bytes: _Free
    held_bytes: _Held
    left_bytes: int
    models: _There


class DeskMemoryInfo(AnswerModel):
    """System memory and who has a part there."""

    free_bytes: _Free
    held_bytes: _Held
    left_bytes: int
    models: _There


class DeskModelInfo(DerivedModel):
    """A model of the desk; without a place its fields about one are null or empty."""

    number: int = Field(description="from 0, in the order of the request")
    repo_id: str
    role: Literal["chat", "embeddings", "reranking", "speech", "pictures"]
    users: int
    context: int = Field(description="tokens for each user")
    must_stay: bool
    state: Literal["resident", "on_demand", "left_out"] = Field(
        description="resident stays loaded; on_demand is loaded beside those when it is asked, one"
        " at a time; left_out is not loaded: no room beside those, or no place even alone"
    )
    quant: str | None
    engine: str | None
    quality: QualityInfo | None
    devices: list[int]
    device_bytes: list[int] = Field(description="held of each of these, at the high end")
    ram_bytes: int = Field(description="of system memory, at the high end")
    start: int | None = Field(description="place in the order of starting, from 1")
    memory_utilization: float | None = Field(
        description="share of each of its cards that its engine receives as an option; null under"
        " one that takes what it needs"
    )
    kv_cache_bytes: int | None = Field(
        description="what that share leaves the KV cache of each card, which newer releases of vLLM"
        " receive instead of measuring it"
    )
    gpu_layers: int | None = Field(description="on devices, where layers are dealt out")
    longest_context: int | None = Field(
        description="tokens of one user if it also got all that is left of its devices"
    )
    loading: LoadTimes | None
    command: str = Field(
        description="that starts its server on its devices, at a port of its own; empty where no"
        " single one does"
    )

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        number, model, command = record
        return {
            "number": number,
            "repo_id": model.profile.repo_id,
            "role": model.role,
            "users": model.question.study.workload.concurrency,
            "context": model.question.study.workload.context,
            "must_stay": model.must_stay,
            "state": model.state,
            "loading": model.loading,
            "command": command,
            **_place(model),
        }


def _place(model: DeskModel) -> dict[str, object]:
    server = model.server
    if server is None:
        return {
            **dict.fromkeys(("quant", "engine", "quality", "start", "memory_utilization")),
            **dict.fromkeys(("kv_cache_bytes", "gpu_layers", "longest_context")),
            "devices": [],
            "device_bytes": [],
            "ram_bytes": 0,
        }
    config, option = server.config, server.seat.option
    return {
        "quant": config.estimate.quant.slug,
        "engine": config.estimate.engine.slug,
        "quality": quality_at(config.estimate),
        "devices": server.devices,
        "device_bytes": [taking.held_bytes for taking in option.takings],
        "ram_bytes": option.ram_bytes,
        "start": server.start,
        "memory_utilization": server.share,
        "kv_cache_bytes": server.cache_bytes,
        "gpu_layers": config.arranged and config.arranged.how.gpu_layers,
        "longest_context": server.longest_context,
    }


class DeskChangeInfo(AnswerModel):
    """The smallest change that lets all models stay loaded."""

    kind: Literal["quant", "context", "gpu"]
    model: int | None = at("number", "number of the model; null where the machine changes")
    value: str | int | float = Field(
        description="slug of the quantization, tokens of the context, or boards more"
    )
    message: Sentence = at("note")


class DeskAnswer(DerivedModel):
    """The answer to `desk`."""

    answer: ConclusionInfo = at("conclusion")
    schema_version: int
    machine: MachineInfo
    buy_usd: float | None = Field(description="of all boards of a machine that was looked for")
    devices: list[DeskDeviceInfo]
    system_memory: DeskMemoryInfo | None = Field(
        description="without what the system itself uses; null where none is stated"
    )
    models: list[DeskModelInfo]
    change: DeskChangeInfo | None = Field(
        description="null where all stay, and where no change was found that lets them"
    )
    change_search: Literal["not_needed", "found", "none_helps", "cut_short"] = Field(
        description="what is known of changes: all stay without one, one was found, none helps, or"
        " the search ended before that was known"
    )
    is_proven: bool = Field(description="no other placing is better; false where time ran out")
    compose: str = Field(description="a Docker Compose file; empty without a container")
    llama_swap: str = Field(description="a configuration of llama-swap; empty without a server")
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        desk: Desk = record
        models = zip(range(len(desk.models)), desk.models, desk.files.commands, strict=True)
        return Beside(
            desk,
            schema_version=SCHEMA_VERSION,
            buy_usd=None if desk.costs is None else desk.costs.buy_usd,
            models=list(models),
            change_search="not_needed" if desk.changes is None else desk.changes.outcome,
            is_proven=desk.placing.is_proven,
            compose=desk.files.compose,
            llama_swap=desk.files.llama_swap,
        )


def desk_answer(desk: Desk, say: Translate) -> DeskAnswer:
    """Return the answer of a desk; `say` writes its sentences."""
    return DeskAnswer.from_record(desk, AnswerContext(say))
