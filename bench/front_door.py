"""The front door: the requests that measured rows stand for, and the public JSON of their answers.

A benchmark learns nothing here that a user would not read: a request goes through every check that
requests go through, and the answer is the JSON that the shell prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from bench.measurements import Row, load_profile, load_snapshot
from gpusizer.answers.report import Report
from gpusizer.answers.request import SizeRequest
from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.core.errors import GpusizerError, UnknownGpu
from gpusizer.fit.best_on_gpu import best_on
from gpusizer.fit.fit import Fitter
from gpusizer.fit.ranking import Ranked
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile
from gpusizer.text import say_note

Fields = Mapping[str, Any]
Answer = dict[str, Any]

_conditions = [""]


class MeasuredSizer(Sizer):
    """The sizer of the measured models, each of which it reads once.

    What more would fit on a named card takes most of an answer's time and is not compared with
    anything: its answers leave it out.
    """

    def profile(self, request: SizeRequest) -> ModelProfile:
        return load_profile(request.model)

    def placed(self, fitter: Fitter, named: Sequence[tuple[Gpu, int | None]]) -> tuple[Ranked, ...]:
        return tuple(
            best_on(fitter, gpu, count, rank) for rank, (gpu, count) in enumerate(named, 1)
        )


@cache
def catalogue() -> Catalogue:
    """The catalogue that answers users."""
    return load_catalogue()


@cache
def _sizer() -> Sizer:
    return MeasuredSizer(_fetch, catalogue())


def _fetch(ref: ModelRef) -> RepoSnapshot:
    return load_snapshot(ref.repo_id)


def size(fields: Fields) -> Answer | None:
    """The report on a request, None where the request is refused. Each request is answered once.

    Nobody here reads a ranking of all GPUs: where none is named, a filter leaves none.
    """
    unranked = {} if fields.get("gpu") else {"max_watts": 1}
    return _sized(_written({**fields, **unranked}), _conditions[-1])


def report(fields: Fields) -> Report | None:
    """The same before it becomes JSON, with what the answer's speeds are computed from."""
    try:
        return _sizer().size(json.loads(_written(fields)))
    except GpusizerError:
        return None


def train_report(fields: Fields) -> Answer | None:
    """The report on a training likewise."""
    return _trained(_written(fields), _conditions[-1])


@contextmanager
def under(condition: str) -> Iterator[None]:
    """Remember answers apart: constants behind them are other ones for a while."""
    _conditions.append(condition)
    try:
        yield
    finally:
        _conditions.pop()


def _written(fields: Fields) -> str:
    """The request as a user writes it down: without what is left open."""
    return json.dumps({name: v for name, v in fields.items() if v not in (None, "")})


@cache
def _sized(text: str, condition: str) -> Answer | None:
    try:
        return _sizer().size(json.loads(text)).to_json(say_note)
    except GpusizerError:
        return None


@cache
def _trained(text: str, condition: str) -> Answer | None:
    try:
        return train(_fetch, catalogue(), json.loads(text)).to_json(say_note)
    except GpusizerError:
        return None


def gpu_of(row: Row) -> str | None:
    """The card that a row names, as a request can name it; None where the catalogue lacks it.

    A size on the label is part of the name. Devices in a list must all be of one kind.
    """
    kinds = {row["gpu"]} if row.get("gpu") else set(row.get("gpus", ()))
    return _named(kinds.pop(), row.get("gpu_class_gb")) if len(kinds) == 1 else None


@cache
def _named(name: str, label: int | None) -> str | None:
    plain = name.partition(" (")[0]
    spellings = [name, plain, plain.partition(" / ")[0]]
    if label and str(label) not in plain:
        spellings.insert(0, f"{plain} {label}GB")
    for spelling in spellings:
        with suppress(UnknownGpu):
            return catalogue().find(spelling).slug
    return None


def estimate_of(answer: Answer) -> dict[str, Any]:
    """The one estimate of a report on one quantization."""
    (estimate,) = answer["estimates"]
    return dict(estimate)
