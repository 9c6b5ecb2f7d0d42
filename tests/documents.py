"""The JSON of an answer or of one part of it, for tests that look at what programs read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusizer.api.base import AnswerContext, AnswerModel
from gpusizer.api.comparison import compare_answer, gpus_answer
from gpusizer.api.desk import desk_answer
from gpusizer.api.logs import log_answer, speed_check_answer
from gpusizer.api.models import models_answer
from gpusizer.api.size import size_answer
from gpusizer.api.training import train_answer
from gpusizer.core.messages import Translate
from gpusizer.logs.log_checks import LogCheck, SpeedCheck
from gpusizer.text import say_note
from gpusizer.usecases.comparison import Comparison, GpuListing
from gpusizer.usecases.desk import Desk
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.report import Report
from gpusizer.usecases.training_report import TrainingReport

_MADE_BY: dict[type, Callable[[Any, Translate], AnswerModel]] = {
    Report: size_answer,
    TrainingReport: train_answer,
    Comparison: compare_answer,
    GpuListing: gpus_answer,
    ModelsFor: models_answer,
    Desk: desk_answer,
    LogCheck: log_answer,
    SpeedCheck: speed_check_answer,
}


def written(record: object, say: Translate = say_note) -> dict[str, Any]:
    """Return the answer that a use case's record is written as."""
    return _MADE_BY[type(record)](record, say).document()


def part(model: type[AnswerModel], record: object, say: Translate = say_note) -> dict[str, Any]:
    """Return the part of an answer that one record is written as."""
    return model.from_record(record, AnswerContext(say)).document()
