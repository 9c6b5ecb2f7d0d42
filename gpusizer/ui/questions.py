"""The other questions: training, the reverse one, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from gpusizer.errors import GpusizerError
from gpusizer.logs.check import check
from gpusizer.sizer import Sizer
from gpusizer.training.trainer import train
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.presenters.catalogue import catalogue_html
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words

_TRAINING = ("model", "method", "sequence_length", "micro_batch", "gpu")
_USUAL = {"method": "lora", "sequence_length": "2048", "micro_batch": "1"}
_MAX_CHARS = 300


class Questions:
    """The listeners of the tabs that ask one thing each."""

    def __init__(self, sizer: Sizer, words: Words) -> None:
        self.words = words
        self._sizer = sizer

    def catalogue(self) -> str:
        """Every GPU in a table."""
        return catalogue_html(self._sizer.catalogue.gpus, self.words)

    def train(self, *values: object) -> Outputs:
        """What fine-tuning takes, and the address of that; values as in `_TRAINING`."""
        named = zip(_TRAINING, values, strict=True)
        fields = {name: value for name, value in named if value not in (None, "")}
        result = attempt(lambda: train(self._sizer.fetch, self._sizer.catalogue, fields))
        query = urlencode(fields, safe="/,")
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return training_html(result, self.words), query

    def train_again(self, asked: Mapping[str, str]) -> Outputs:
        """The fields of an address, and its answer."""
        texts = {name: (asked.get(name) or _USUAL.get(name, ""))[:_MAX_CHARS] for name in _TRAINING}
        fields = [
            _number(text) if _USUAL.get(name, "").isdecimal() else text
            for name, text in texts.items()
        ]
        return (*fields, *self.train(*fields))

    def models_for(self, gpu: object, task: object = "", context: object = "") -> Outputs:
        """What a card or a machine runs, and the address of that."""
        asked = str(gpu).strip()
        fields = {"gpu": asked, "model_task": task, "context": context, "top": RANKED}
        result = attempt(lambda: self._sizer.models_for(fields))
        query = urlencode({"gpu": asked})
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return models_for_html(result, self.words), query

    def models_for_again(self, asked: Mapping[str, str]) -> Outputs:
        """The field of an address, and its answer."""
        gpu = (asked.get("gpu") or "")[:_MAX_CHARS]
        return (gpu, *self.models_for(gpu))

    def check_log(self, text: str, model: object, gpu: object) -> str:
        """A pasted log against the prediction for its run."""
        result = attempt(lambda: check(self._sizer, text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)


def _number(text: str) -> int | None:
    """A number for its field; None empties it."""
    return int(text) if text.isdecimal() and len(text) < 8 else None
