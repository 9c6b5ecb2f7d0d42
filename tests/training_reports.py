"""Shortcuts to training reports."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.shape import TrainedShape
from gpusizer.usecases.training_report import TrainingReport
from tests.asking import training
from tests.documents import written
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CARDS = embedded_sizer().catalogue


def answer(**fields: Any) -> TrainingReport:
    sizer = embedded_sizer()
    return training(sizer, {"model": LLAMA, **fields})


@cache
def every_place(**fields: Any) -> TrainingReport:
    """Return a report with all places, kept for tests of one day's prices."""
    return answer(top=0, **fields)


def as_json(report: TrainingReport) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(written(report), allow_nan=False))
    return data


def llama_estimator() -> TrainingEstimator:
    return TrainingEstimator(answer().profile)


def llama_shape() -> TrainedShape:
    return llama_estimator().shape
