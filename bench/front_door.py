"""Sends the requests of measured rows and returns the public JSON of their answers.

Benchmarks use only numbers that users can read: requests pass through the usual validation, and
an answer is the JSON that the shell prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from bench.measurements import Row, load_profile, load_snapshot
from gpusizer.advice.ranking import Ranked
from gpusizer.api.size import size_answer
from gpusizer.api.training import train_answer
from gpusizer.core.errors import GpusizerError, UnknownGpu
from gpusizer.gpus import Catalogue, load_catalogue
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile
from gpusizer.text import say_note
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.named_gpus import NamedGpu
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train

Fields = Mapping[str, Any]
Answer = dict[str, Any]

_conditions = [""]


class MeasuredSizer(Sizer):
    """A sizer of the measured models, which caches their profiles.

    Its answers leave out what else would fit on a named card: this takes most of an answer's time
    and no measurement is compared with it.
    """

    def profiled(self, snapshot: RepoSnapshot) -> ModelProfile:
        return load_profile(snapshot.repo_id)

    def places(
        self, question: Question, named: Sequence[NamedGpu], *, advised: bool = True
    ) -> Iterator[Ranked]:
        return super().places(question, named, advised=False)


@cache
def catalogue() -> Catalogue:
    """Return the catalogue that the application uses."""
    return load_catalogue()


@cache
def _sizer() -> Sizer:
    return MeasuredSizer(_fetch, catalogue())


def _fetch(ref: ModelRef) -> RepoSnapshot:
    return load_snapshot(ref.repo_id)


def size(fields: Fields) -> Answer | None:
    """Return the report on a request, None if it is refused. Answers are cached.

    A request without a GPU gets a filter that leaves none, because no benchmark reads the ranking
    of all GPUs.
    """
    unranked = {} if fields.get("gpu") else {"max_watts": 1}
    return _sized(_request_json({**fields, **unranked}), _conditions[-1])


def report(fields: Fields) -> Report | None:
    """Return the report before it becomes JSON, with the inputs of its speeds."""
    try:
        return _sizer().size(SizeRequest.from_fields(json.loads(_request_json(fields))))
    except GpusizerError:
        return None


def train_report(fields: Fields) -> Answer | None:
    """Return the report on a training request, None if it is refused. Answers are cached."""
    return _trained(_request_json(fields), _conditions[-1])


@contextmanager
def separate_answers(condition: str) -> Iterator[None]:
    """Cache answers separately while the constants behind them are replaced."""
    _conditions.append(condition)
    try:
        yield
    finally:
        _conditions.pop()


def _request_json(fields: Fields) -> str:
    return json.dumps({name: v for name, v in fields.items() if v not in (None, "")})


@cache
def _sized(text: str, condition: str) -> Answer | None:
    try:
        report = _sizer().size(SizeRequest.from_fields(json.loads(text)))
        return size_answer(report, say_note).document()
    except GpusizerError:
        return None


@cache
def _trained(text: str, condition: str) -> Answer | None:
    try:
        request = TrainingRequest.from_fields(json.loads(text))
        report = train(Sizer(_fetch, catalogue()), request)
        return train_answer(report, say_note).document()
    except GpusizerError:
        return None


def gpu_of(row: Row) -> str | None:
    """Return the slug of the card that a row names; None if the catalogue lacks it.

    `gpu_class_gb` is part of the name. None also if the row lists cards of several kinds.
    """
    kinds = {row["gpu"]} if row.get("gpu") else set(row.get("gpus", ()))
    return _slug_of(kinds.pop(), row.get("gpu_class_gb")) if len(kinds) == 1 else None


@cache
def _slug_of(name: str, label: int | None) -> str | None:
    plain = name.partition(" (")[0]
    spellings = [name, plain, plain.partition(" / ")[0]]
    if label and str(label) not in plain:
        spellings.insert(0, f"{plain} {label}GB")
    for spelling in spellings:
        with suppress(UnknownGpu):
            return catalogue().find(spelling).slug
    return None


def estimate_of(answer: Answer) -> dict[str, Any]:
    """Return the only estimate of a report on one quantization."""
    (estimate,) = answer["estimates"]
    return dict(estimate)


@dataclass(frozen=True)
class AnsweredRow:
    """A row, its request and the public answer."""

    row: Row
    fields: Fields
    answer: Answer

    @property
    def profile(self) -> ModelProfile:
        """Profile of the model, for the kind of row and the naive calculator."""
        return load_profile(self.row["profile"])

    @cached_property
    def estimate(self) -> dict[str, Any]:
        return estimate_of(self.answer)
