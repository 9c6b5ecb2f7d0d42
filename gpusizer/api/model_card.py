"""Statements of a model card in answers, each next to an estimate."""

from __future__ import annotations

from typing import Annotated, Any

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    DerivedModel,
    NoteInfo,
    Stated,
    derived,
    said,
)
from gpusizer.hub.card_statements import Bound, Kind
from gpusizer.usecases.model_card.verdicts import CardVerdict, JudgedStatement

# fields that are null if the author does not state them
_ALWAYS = (
    *("vram_gb", "gpu", "count", "engine", "tensor_parallel", "context", "kv_dtype", "quant"),
    "is_requirement",
)


class StatementInfo(DerivedModel):
    """A claim of a model card (docs/model_cards.md).

    The first fields are null if the author does not state them; later ones are left out.
    """

    kind: Kind
    text: str
    line: int
    vram_gb: float | None
    gpu: str | None
    count: int | None
    engine: str | None
    tensor_parallel: int | None
    context: int | None
    kv_dtype: str | None
    quant: str | None
    is_requirement: bool | None
    verdict: CardVerdict
    reason: Annotated[NoteInfo, derived(said)]
    last_line: Stated[int]
    bound: Stated[Bound]
    model: Stated[str]
    vram_gb_high: Stated[float]
    vram_gb_per_gpu: Stated[float]
    unified_memory_gb: Stated[float]
    gpus: Stated[list[str]]
    bits: Stated[float]
    is_quantized: Stated[bool]
    with_offload: Stated[bool]
    native_context: Stated[int]
    yarn_factor: Stated[float]
    file: Stated[str]
    pipeline_parallel: Stated[int]
    data_parallel: Stated[int]
    processes: Stated[int]
    has_dp_attention: Stated[bool]
    memory_utilization: Stated[float]
    max_num_seqs: Stated[int]
    max_num_batched_tokens: Stated[int]
    enforce_eager: Stated[bool]
    gpu_layers: Stated[int]
    flash_attention: Stated[bool]
    draft_tokens: Stated[int]
    draft_model: Stated[str]
    branch: Stated[str]
    group_size: Stated[int]
    size_gb: Stated[float]
    ram_gb: Stated[float]

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        judged: JudgedStatement = record
        return {
            **dict.fromkeys(_ALWAYS),
            **judged.statement.to_json(),
            "text": judged.statement.quote,
            "verdict": judged.verdict,
            "reason": judged.reason,
        }


class ModelCardInfo(AnswerModel):
    """The statements of a model card."""

    url: str
    statements: list[StatementInfo]
