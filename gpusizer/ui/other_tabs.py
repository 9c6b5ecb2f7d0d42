"""The listeners of the other tabs: training, models for a GPU, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import gradio as gr

from gpusizer.answers.accuracy import load_accuracy
from gpusizer.answers.logs.log_checks import check
from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.request import ListingRequest
from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.answers.training_report import TrainingReport
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.model.tasks import TASKS
from gpusizer.ui.answers import ForVisitor
from gpusizer.ui.asked import START, FormCall, Shown
from gpusizer.ui.attempts import RANKED, attempt
from gpusizer.ui.endpoints import with_rights
from gpusizer.ui.own_fields import OF_NAMED_GPUS, OWN_FIELDS_OF
from gpusizer.ui.page_state import number_text, whole_number
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.catalogue import catalogue_html, sold_first
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.frame import waiting_html
from gpusizer.ui.presenters.grid import grid_value
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import columns, copies_html, models_for_html
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.reading import Reading, told

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

    def catalogue(self, query: object = "") -> Shown:
        """The GPUs that a query names in a table, all of them without one; what is above it."""
        named = str(query or "").strip()  # a field that has not been shown yet has None
        listing = attempt(lambda: self._sizer.gpus(ListingRequest.from_fields({"query": named})))
        if isinstance(listing, GpusizerError):
            return _listed(error_html(listing, (), self.words))
        above = catalogue_html(len(self._sizer.catalogue.gpus), self.words, listing.notes)
        if not listing.gpus:
            return _listed(above)
        gpus = listing.gpus if named else sold_first(listing.gpus)
        rows = grid_value(CATALOGUE_COLUMNS, gpus, self.words)
        return _listed(above, gr.update(value=rows, visible=True))

    def accuracy(self) -> str:
        """Return the table of prediction errors."""
        return accuracy_html(load_accuracy(), self.words)

    def train(self, asked: FormCall) -> Iterator[Shown]:
        """Yield what is told while the model is read, then memory, time and price of fine-tuning,
        and the query string."""
        fields = _asked_fields(asked, (*_TRAINING, *OWN_FIELDS_OF["train"]))
        query = urlencode(_texts(fields), safe="/,", errors="replace")
        model = str(fields.get("model", "")).strip()
        if (idle := _idle(asked, model, query)) is not None:
            yield idle
            return
        if "gpu" not in fields:  # memory is stated of GPUs that are named
            fields = {name: value for name, value in fields.items() if name not in OF_NAMED_GPUS}
        reading = Reading(partial(self._read_and_train, self._of(asked.token), fields))
        for status in told(reading, model, self.words):
            yield {"status": status if model else ""}
        result = reading.result
        if isinstance(result, GpusizerError):
            shown = error_html(result, (), self.words)
        else:
            shown = training_html(result, self.words)
        yield {"status": "", "answer": shown, "query": query}

    def _read_and_train(
        self, sizer: Sizer, fields: Mapping[str, object], on_step: OnStep
    ) -> TrainingReport | GpusizerError:
        fetch = watched(sizer.fetch, on_step)
        return attempt(lambda: train(fetch, sizer.catalogue, TrainingRequest.from_fields(fields)))

    def training_fields(self, address: Mapping[str, str]) -> Shown:
        """Return the values of the training form for an address."""
        fields = _fields(_TRAINING, address)
        return fields | {"method": _known_method(str(fields["method"]))}

    def models_for(self, asked: FormCall) -> Iterator[Shown]:
        """Yield what is done meanwhile, then the models that a card or a machine runs, their
        copies, and the query string."""
        fields = _asked_fields(asked, (*_REVERSE, *OWN_FIELDS_OF["reverse"]))
        live = str(fields.pop("live", "")).lower() in ("true", "1", "yes", "on")
        fields |= {"live": "true"} if live else {}
        texts = _texts(fields)
        unusual = {name: text for name, text in texts.items() if text != _USUAL.get(name)}
        query = urlencode(unusual, errors="replace")
        if (idle := _idle(asked, str(fields.get("gpu", "")).strip(), query)) is not None:
            yield idle
            return
        yield {"status": waiting_html(self.words("reverse.asking" if live else "reverse.sizing"))}
        request = {"gpu": "", **fields, "top": RANKED}
        result = attempt(lambda: self._sizer.models_for(ModelsRequest.from_fields(request)))
        models, copies = gr.update(visible=False), ""
        if isinstance(result, GpusizerError):
            answer = error_html(result, (), self.words)
        else:
            answer, copies = models_for_html(result, self.words), copies_html(result, self.words)
            if result.rows:
                rows = grid_value(columns(result.request.gpu), result.rows, self.words)
                models = gr.update(value=rows, visible=True)
        shown = {"answer": answer, "models": models, "copies": copies}
        yield {"status": "", **shown, "query": query}

    def models_fields(self, address: Mapping[str, str]) -> Shown:
        """Return the values of the form of a card or a machine for an address."""
        fields = _fields(_REVERSE, address)
        is_live = str(fields["live"]).lower() in ("true", "1", "yes", "on")
        return fields | {"model_task": _known_task(str(fields["model_task"])), "live": is_live}

    def check_log(
        self, text: str, model: object, gpu: object, token: gr.OAuthToken | None = None
    ) -> str:
        """Compare a pasted log with the prediction for its run."""
        result = attempt(lambda: check(self._of(token), text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)


def _fields(names: Sequence[str], address: Mapping[str, str]) -> dict[str, str | int]:
    """Return values for the fields of a form; fields that an address omits get their defaults."""
    texts = {name: (address.get(name) or _USUAL.get(name, ""))[:_MAX_CHARS] for name in names}
    return {
        name: whole_number(text) if _USUAL.get(name, "").isdecimal() else text
        for name, text in texts.items()
    }


def _asked_fields(asked: FormCall, names: Sequence[str]) -> dict[str, object]:
    """Return the fields that are stated: those of an address that is opened, or the form's."""
    address = asked.last("load")
    stated: Mapping[str, object] = asked.fields
    if address is not None:
        texts = {n: t[:_MAX_CHARS] for n, t in parse_qsl(address.removeprefix("?"))}
        stated = {name: text for name, text in _USUAL.items() if name in names} | texts
    values = {name: stated.get(name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "", False)}


def _idle(asked: FormCall, subject: str, query: str) -> Shown | None:
    """Return what is shown where no answer is due, None where one is: for another question, or
    where the visitor insists."""
    if not subject and asked.last("ask") is None:
        return START if asked.query and asked.last("load") is not None else {}
    return {} if query == asked.query and not asked.insists else None


def _listed(above: str, table: Any = None) -> Shown:
    """Return values for the catalogue's heading and table, which is absent without rows."""
    grid = gr.update(visible=False) if table is None else table
    return {"catalogue.heading": above, "catalogue.table": grid}


def _texts(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the values of an address; whole numbers come as decimals from some browsers."""
    return {name: number_text(value) for name, value in fields.items()}


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
