"""The other questions: training, the reverse one, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import gradio as gr

from gpusizer.accuracy import load_accuracy
from gpusizer.errors import GpusizerError, InvalidRequest
from gpusizer.logs.check import check
from gpusizer.models_for.tasks import TASKS
from gpusizer.sizer import Sizer
from gpusizer.training.request import parse_training_request
from gpusizer.training.trainer import train
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.endpoints import ForVisitor, with_rights
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.catalogue import catalogue_html
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words
from gpusizer.workload import DEFAULT_CONTEXT

_TRAINING = ("model", "method", "sequence_length", "micro_batch", "gpu")
_REVERSE = ("gpu", "model_task", "context")
_USUAL = {
    "method": "lora", "sequence_length": "2048", "micro_batch": "1",
    "context": str(DEFAULT_CONTEXT),
}  # fmt: skip
_MAX_CHARS = 300


class Questions:
    """The listeners of the tabs that ask one thing each."""

    def __init__(self, sizer: Sizer, for_visitor: ForVisitor, words: Words) -> None:
        self.words = words
        self._sizer = sizer
        self._for_visitor = for_visitor

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        return with_rights(self._sizer, self._for_visitor, token)

    def catalogue(self) -> str:
        """Every GPU in a table."""
        return catalogue_html(self._sizer.catalogue.gpus, self.words)

    def accuracy(self) -> str:
        """The errors of the predictions."""
        return accuracy_html(load_accuracy(), self.words)

    def train(
        self,
        model: object,
        method: object,
        sequence_length: object,
        micro_batch: object,
        gpu: object,
        token: gr.OAuthToken | None = None,
    ) -> Outputs:
        """What fine-tuning takes, and the address of that."""
        values = (model, method, sequence_length, micro_batch, gpu)
        named = zip(_TRAINING, values, strict=True)
        fields = {name: value for name, value in named if value not in (None, "")}
        sizer = self._of(token)
        result = attempt(lambda: train(sizer.fetch, sizer.catalogue, fields))
        query = urlencode(fields, safe="/,")
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return training_html(result, self.words), query

    def train_again(self, asked: Mapping[str, str], token: gr.OAuthToken | None) -> Outputs:
        """The fields of an address, and its answer."""
        fields = _fields(_TRAINING, asked)
        model, method, sequence_length, micro_batch, gpu = fields.values()
        answer = self.train(model, method, sequence_length, micro_batch, gpu, token)
        return *(fields | {"method": _known_method(str(method))}).values(), *answer

    def models_for(self, gpu: object, task: object = "", context: object = "") -> Outputs:
        """What a card or a machine runs, and the address of that; of embedded models alone."""
        named = zip(_REVERSE, (str(gpu).strip(), task, context), strict=True)
        fields = {name: value for name, value in named if value not in (None, "")}
        result = attempt(lambda: self._sizer.models_for({"gpu": "", **fields, "top": RANKED}))
        unusual = {name: v for name, v in fields.items() if str(v) != _USUAL.get(name)}
        query = urlencode(unusual)
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return models_for_html(result, self.words), query

    def models_for_again(self, asked: Mapping[str, str]) -> Outputs:
        """The fields of an address, and its answer."""
        fields = _fields(_REVERSE, asked)
        gpu, task, context = fields.values()
        answer = self.models_for(gpu, task, context)
        return *(fields | {"model_task": _known_task(str(task))}).values(), *answer

    def check_log(
        self, text: str, model: object, gpu: object, token: gr.OAuthToken | None = None
    ) -> str:
        """A pasted log against the prediction for its run."""
        result = attempt(lambda: check(self._of(token), text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)


def _fields(names: Sequence[str], asked: Mapping[str, str]) -> dict[str, str | int | None]:
    """Values for the fields of a form; what an address leaves out is as usual."""
    texts = {name: (asked.get(name) or _USUAL.get(name, ""))[:_MAX_CHARS] for name in names}
    return {
        name: _number(text) if _USUAL.get(name, "").isdecimal() else text
        for name, text in texts.items()
    }


def _known_method(text: str) -> str:
    """What the menu shows for it: the usual method where there is none of that name.

    A menu cannot show what it does not offer; the answer says what is wrong with it.
    """
    try:
        return parse_training_request({"method": text}).plan.method
    except InvalidRequest:
        return _USUAL["method"]


def _known_task(text: str) -> str:
    """As `_known_method` does; "" for every task."""
    task = text.strip().lower()
    return task if task in TASKS else ""


def _number(text: str) -> int | None:
    """A number for its field; None empties it."""
    return int(text) if text.isdecimal() and len(text) < 8 else None
