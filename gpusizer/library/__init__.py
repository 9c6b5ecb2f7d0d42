"""The library: each function answers one question as the shell does, as a typed answer.

`import gpusizer` has these names too. Keyword arguments are fields of the request, in
docs/contract.md; every function raises GpusizerErrors, with their sentence as a note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, TypeVar, Unpack

from gpusizer.api.base import AnswerModel
from gpusizer.api.comparison import CompareAnswer as CompareAnswer
from gpusizer.api.comparison import GpusAnswer as GpusAnswer
from gpusizer.api.comparison import compare_answer, gpus_answer
from gpusizer.api.desk import DeskAnswer as DeskAnswer
from gpusizer.api.desk import desk_answer
from gpusizer.api.models import ModelsAnswer as ModelsAnswer
from gpusizer.api.models import models_answer
from gpusizer.api.size import SizeAnswer as SizeAnswer
from gpusizer.api.size import size_answer
from gpusizer.api.training import TrainAnswer as TrainAnswer
from gpusizer.api.training import train_answer
from gpusizer.composition.shell import sizer_of
from gpusizer.core import errors as errors
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.messages import Translate
from gpusizer.core.request_model import RequestModel
from gpusizer.core.settings import Settings
from gpusizer.library.keywords import (
    CompareKeywords,
    DeskKeywords,
    GpusKeywords,
    ModelsKeywords,
    SizeKeywords,
    TrainKeywords,
)
from gpusizer.text import read_language, say_note
from gpusizer.text import say_error as say_error
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES

_MOST_SUGGESTED = 3
_Answer = TypeVar("_Answer", bound=AnswerModel)


def size(
    model: str,
    *,
    offline: bool = False,
    token: str | None = None,
    lang: str = "en",
    **fields: Unpack[SizeKeywords],
) -> SizeAnswer:
    """Return the memory of a model, and GPUs that run it: all ranked, or those in `gpu`."""
    return _answer("size", size_answer, {"model": model, **fields}, offline, token, lang)


def train(
    model: str,
    *,
    offline: bool = False,
    token: str | None = None,
    lang: str = "en",
    **fields: Unpack[TrainKeywords],
) -> TrainAnswer:
    """Return memory, time and price of training a model, and GPUs for it."""
    return _answer("train", train_answer, {"model": model, **fields}, offline, token, lang)


def compare(
    gpus: str | Sequence[str],
    model: str = "",
    *,
    offline: bool = False,
    token: str | None = None,
    lang: str = "en",
    **fields: Unpack[CompareKeywords],
) -> CompareAnswer:
    """Return GPUs side by side, and how a model runs on each if one is named."""
    return _answer(
        "compare", compare_answer, {"gpus": gpus, "model": model, **fields}, offline, token, lang
    )


def models_for(
    gpu: str = "",
    *,
    offline: bool = False,
    token: str | None = None,
    lang: str = "en",
    **fields: Unpack[ModelsKeywords],
) -> ModelsAnswer:
    """Return models that run on a GPU, or on the machine in `rig`."""
    return _answer("models-for", models_answer, {"gpu": gpu, **fields}, offline, token, lang)


def desk(
    models: str | Sequence[str],
    gpu: str = "",
    *,
    offline: bool = False,
    token: str | None = None,
    lang: str = "en",
    **fields: Unpack[DeskKeywords],
) -> DeskAnswer:
    """Return who lives where of several models on one machine, a line of text each; without `gpu`
    the cheapest boards that keep all loaded."""
    return _answer(
        "desk", desk_answer, {"models": models, "gpu": gpu, **fields}, offline, token, lang
    )


def list_gpus(query: str = "", *, lang: str = "en", **fields: Unpack[GpusKeywords]) -> GpusAnswer:
    """Return GPUs of the catalogue whose names have the words of `query`."""
    return _answer("gpus", gpus_answer, {"query": query, **fields}, True, None, lang)


def _answer(
    question: str,
    answer: Callable[[Any, Translate], _Answer],
    fields: Mapping[str, object],
    offline: bool,
    token: str | None,
    lang: str,
) -> _Answer:
    """Ask a use case by its name, and return what `answer` makes of its record.

    With `offline`, stored models alone are read; `token` is the only one that the Hub is sent.
    """
    language = read_language(lang)
    try:
        record = USE_CASES[question].ask(_sizer(offline, token), fields)
    except GpusizerError as error:
        known = _with_known_names(error, USE_CASES[question].request)
        known.add_note(say_error(known, language))
        raise known from None
    return answer(record, partial(say_note, language=language))


def _sizer(offline: bool, token: str | None) -> Sizer:
    settings = Settings.from_environment(os.environ)
    # Who imports a library has not asked it to use the rights of its host.
    settings = replace(settings, host_token=None, offline=offline or settings.offline)
    given = token.strip() if token else None
    return sizer_of(settings, given) if given else _anonymous(settings)


@lru_cache(maxsize=4)
def _anonymous(settings: Settings) -> Sizer:
    return sizer_of(settings, None)


def _with_known_names(error: GpusizerError, request: type[RequestModel]) -> GpusizerError:
    """Return the error; that of an unknown name with the known ones (`known`) and near ones."""
    if error.fields.get("reason") != "unknown_field":
        return error
    known = sorted(described_fields(request))
    near = get_close_matches(str(error.fields["field"]), known, _MOST_SUGGESTED)
    return InvalidRequest(**error.fields, known=[*known], suggestions=[*near])
