"""The listeners of the other tabs: training, models for a GPU, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import gradio as gr

from gpusizer.answers.accuracy import load_accuracy
from gpusizer.answers.logs.log_checks import check
from gpusizer.answers.models_for.tasks import TASKS
from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.ui.answers import ForVisitor
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.endpoints import with_rights
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.catalogue import catalogue_grid, catalogue_html, sold_first
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import COLUMNS as MODELS_COLUMNS
from gpusizer.ui.presenters.models_for import copies_html, models_for_html, models_grid
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words

_TRAINING = ("model", "method", "sequence_length", "micro_batch", "gpu")
_REVERSE = ("gpu", "model_task", "context", "license", "live")
_USUAL = {
    "method": "lora",
    "sequence_length": "2048",
    "micro_batch": "1",
    "context": str(DEFAULT_CONTEXT),
}
_MAX_CHARS = 300


class Questions:
    """The listeners of the tabs with one form or none."""

    def __init__(self, sizer: Sizer, for_visitor: ForVisitor, words: Words) -> None:
        self.words = words
        self._sizer = sizer
        self._for_visitor = for_visitor

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        return with_rights(self._sizer, self._for_visitor, token)

    def catalogue(self, query: object = "") -> Outputs:
        """The GPUs that a query names in a table, all of them without one; what is above it."""
        listing = attempt(lambda: self._sizer.gpus({"query": query}))
        if isinstance(listing, GpusizerError):
            return error_html(listing, (), self.words), gr.update(visible=False)
        above = catalogue_html(len(self._sizer.catalogue.gpus), self.words, listing.notes)
        if not listing.gpus:
            return above, gr.update(visible=False)
        gpus = listing.gpus if str(query).strip() else sold_first(listing.gpus)
        grid = catalogue_grid(gpus, self.words)
        rows = grid.value(CATALOGUE_COLUMNS, self.words)
        return above, gr.update(value=rows, visible=True)

    def accuracy(self) -> str:
        """Return the table of prediction errors."""
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
        """Return the memory, time and price of fine-tuning, and the query string."""
        values = (model, method, sequence_length, micro_batch, gpu)
        pairs = zip(_TRAINING, values, strict=True)
        fields = {name: value for name, value in pairs if value not in (None, "")}
        sizer = self._of(token)
        result = attempt(lambda: train(sizer.fetch, sizer.catalogue, fields))
        query = urlencode(fields, safe="/,", errors="replace")
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return training_html(result, self.words), query

    def train_again(self, address: Mapping[str, str], token: gr.OAuthToken | None) -> Outputs:
        """Return the form's values for an address, and the answer."""
        fields = _fields(_TRAINING, address)
        model, method, sequence_length, micro_batch, gpu = fields.values()
        answer = self.train(model, method, sequence_length, micro_batch, gpu, token)
        return *(fields | {"method": _known_method(str(method))}).values(), *answer

    def models_for(
        self,
        gpu: object,
        task: object = "",
        context: object = "",
        license_name: object = "",
        live: object = False,
    ) -> Outputs:
        """Return the models that a card or a machine runs, their copies, and the query string."""
        values = (str(gpu).strip(), task, context, license_name, "true" if live else "")
        pairs = zip(_REVERSE, values, strict=True)
        fields = {name: value for name, value in pairs if value not in (None, "")}
        result = attempt(lambda: self._sizer.models_for({"gpu": "", **fields, "top": RANKED}))
        unusual = {name: v for name, v in fields.items() if str(v) != _USUAL.get(name)}
        query = urlencode(unusual, errors="replace")
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), gr.update(visible=False), "", query
        models = gr.update(visible=False)
        if result.rows:
            rows = models_grid(result, self.words).value(MODELS_COLUMNS, self.words)
            models = gr.update(value=rows, visible=True)
        copies = copies_html(result, self.words)
        return models_for_html(result, self.words), models, copies, query

    def models_for_again(self, address: Mapping[str, str]) -> Outputs:
        """Return the form's values for an address, and the answer."""
        fields = _fields(_REVERSE, address)
        gpu, task, context, license_name, live = fields.values()
        is_live = str(live).lower() in ("true", "1", "yes", "on")
        answer = self.models_for(gpu, task, context, license_name, is_live)
        return gpu, _known_task(str(task)), context, license_name, is_live, *answer

    def check_log(
        self, text: str, model: object, gpu: object, token: gr.OAuthToken | None = None
    ) -> str:
        """Compare a pasted log with the prediction for its run."""
        result = attempt(lambda: check(self._of(token), text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)


def _fields(names: Sequence[str], address: Mapping[str, str]) -> dict[str, str | int | None]:
    """Return values for the fields of a form; fields that an address omits get their defaults."""
    texts = {name: (address.get(name) or _USUAL.get(name, ""))[:_MAX_CHARS] for name in names}
    return {
        name: _number(text) if _USUAL.get(name, "").isdecimal() else text
        for name, text in texts.items()
    }


def _known_method(text: str) -> str:
    """Return the method for the menu: the default one for a name that the menu does not have.

    The answer still says that the name is unknown.
    """
    try:
        return TrainingRequest.from_fields({"method": text}).plan.method
    except InvalidRequest:
        return _USUAL["method"]


def _known_task(text: str) -> str:
    """Return the task for the menu: "", all tasks, for a name that the menu does not have."""
    task = text.strip().lower()
    return task if task in TASKS else ""


def _number(text: str) -> int | None:
    """Return the value of a number field; None, which empties it, for any other text."""
    return int(text) if text.isdecimal() and len(text) < 8 else None
