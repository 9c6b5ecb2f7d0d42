"""All answers by the name of their question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.api.base import AnswerModel
from gpusizer.api.comparison import CompareAnswer, GpusAnswer, compare_answer, gpus_answer
from gpusizer.api.desk import DeskAnswer, desk_answer
from gpusizer.api.models import ModelsAnswer, models_answer
from gpusizer.api.size import SizeAnswer, size_answer
from gpusizer.api.training import TrainAnswer, train_answer
from gpusizer.core.messages import Translate


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """Model of an answer, and the function that makes it from a use case's record."""

    model: type[AnswerModel]
    from_record: Callable[[Any, Translate], AnswerModel]


# by the question's name, in the order of docs/contract.md
ANSWERS: Mapping[str, AnswerForm] = {
    "size": AnswerForm(SizeAnswer, size_answer),
    "train": AnswerForm(TrainAnswer, train_answer),
    "compare": AnswerForm(CompareAnswer, compare_answer),
    "models-for": AnswerForm(ModelsAnswer, models_answer),
    "desk": AnswerForm(DeskAnswer, desk_answer),
    "gpus": AnswerForm(GpusAnswer, gpus_answer),
}
