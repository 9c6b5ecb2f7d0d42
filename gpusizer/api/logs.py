"""Answers to `log` and `check`: measurements of a run next to their predictions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    Notes,
    Number,
    derived,
)
from gpusizer.core.messages import Translate
from gpusizer.logs.log_checks import LogCheck, SpeedCheck
from gpusizer.speed import Rate

Scalar = str | int | float | bool


class ReadingInfo(AnswerModel):
    """A value of a log."""

    name: str = Field(description="as in data/measurements/README.md")
    value: Scalar
    device: str
    step: int = Field(description="bytes of the last printed digit, 0 for what is no size")
    lines: list[int] = Field(description="where it was read, from 1")
    quote: str


class ParsedLogInfo(AnswerModel):
    """A start of an engine."""

    engine: str
    facts: list[ReadingInfo] = Field(description="version, model, GPU, outcome")
    settings: list[ReadingInfo]
    measured: list[ReadingInfo]
    lines_read: int
    cut: bool = Field(description="the paste went beyond what is read")
    loads: int = Field(description="starts found; the one with the largest weights is described")


class LogRequestInfo(AnswerModel):
    """The run that is predicted."""

    engine: str
    model: str
    fields: dict[str, Scalar | None] = Field(description="of a size request, by the log")
    gpu: str
    memory_bytes: int | None
    gpus: int
    quantization: str
    quant: str
    gguf_repo: str


class PredictedInfo(AnswerModel):
    """A predicted amount."""

    name: str
    likely: Number
    low: Number
    high: Number


class PredictionInfo(AnswerModel):
    """Predicted amounts of a run."""

    repo: str
    quant: str
    native: bool
    gpu: str
    even: bool = Field(description="every token of the cache costs as much as the others")
    amounts: list[PredictedInfo]
    gguf_repo: str
    notes: Notes


class ComparedAmountInfo(AnswerModel):
    """An amount measured and predicted: bytes, or a count for "max_concurrency"."""

    name: str
    measured: Number
    predicted: Number
    low: Number
    high: Number
    lines: list[int]
    error: Annotated[float, derived(lambda error, _: round(error, 6))] = Field(
        description="signed share of the measured value"
    )


class LogComparisonInfo(AnswerModel):
    """A run, its prediction, and the difference between them."""

    request: LogRequestInfo
    prediction: PredictionInfo
    rows: list[ComparedAmountInfo]


class IssueInfo(AnswerModel):
    """A GitHub issue to paste."""

    title: str
    body: str
    row: dict[str, Any] = Field(description="in the form of data/measurements")


class LogAnswer(AnswerModel):
    """The answer to `log`."""

    log: ParsedLogInfo
    model: str
    comparison: LogComparisonInfo | None = Field(description="null without a model to predict")
    issue: IssueInfo | None
    notes: Notes


class ComparedSpeedInfo(AnswerModel):
    """A measured speed and the prediction for it."""

    name: str
    quantity: str
    measured: Annotated[float, derived(lambda rate, _: round(rate, 3))]
    predicted: Rate | None
    verdict: Literal["in_band", "below", "above", "unknown"]


class SpeedCheckAnswer(AnswerModel):
    """Answer to `check`: speeds that llama-bench measured next to the predicted ones."""

    schema_version: int
    engine: str
    model: str
    gpu: str
    count: int
    compared: list[ComparedSpeedInfo]
    when_less: Notes = Field(description="what to look at, where a speed is below its band")
    row: dict[str, Any] = Field(description="in the form of data/measurements")


def log_answer(log_check: LogCheck, say: Translate) -> LogAnswer:
    """Return the answer of a checked log; `say` writes its sentences."""
    return LogAnswer.from_record(log_check, AnswerContext(say))


def speed_check_answer(speed_check: SpeedCheck, say: Translate) -> SpeedCheckAnswer:
    """Return the answer of a checked benchmark; `say` writes its sentences."""
    record = Beside(speed_check, schema_version=SCHEMA_VERSION)
    return SpeedCheckAnswer.from_record(record, AnswerContext(say))
