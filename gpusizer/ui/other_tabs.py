"""The listeners of the other tabs: training, models for a GPU, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

import gradio as gr

from gpusizer.answers.accuracy import load_accuracy
from gpusizer.answers.logs.log_checks import check
from gpusizer.answers.models_for.tasks import TASKS
from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.answers.training_report import TrainingReport
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.ui.answers import ForVisitor
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.endpoints import with_rights
from gpusizer.ui.own_fields import OF_NAMED_GPUS, OWN_FIELDS_OF
from gpusizer.ui.page_state import number_text
from gpusizer.ui.presenters.accuracy import accuracy_html
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.catalogue import catalogue_grid, catalogue_html, sold_first
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.frame import waiting_html
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import COLUMNS as MODELS_COLUMNS
from gpusizer.ui.presenters.models_for import copies_html, models_for_html, models_grid
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

    def train(self, token: gr.OAuthToken | None, *values: object) -> Iterator[Outputs]:
        """Yield what is told while the model is read, then memory, time and price of fine-tuning,
        and the query string. `values` are those of the form, then those of its own fields."""
        pairs = zip((*_TRAINING, *OWN_FIELDS_OF["train"]), values, strict=False)
        fields = {name: value for name, value in pairs if value not in (None, "")}
        query = urlencode(_texts(fields), safe="/,", errors="replace")
        model = str(fields.get("model", "")).strip()
        if "gpu" not in fields:  # memory is stated of GPUs that are named
            fields = {name: value for name, value in fields.items() if name not in OF_NAMED_GPUS}
        reading = Reading(partial(self._read_and_train, self._of(token), fields))
        for status in told(reading, model, self.words):
            yield status if model else "", gr.skip(), gr.skip()
        result = reading.result
        if isinstance(result, GpusizerError):
            yield "", error_html(result, (), self.words), query
        else:
            yield "", training_html(result, self.words), query

    def _read_and_train(
        self, sizer: Sizer, fields: Mapping[str, object], on_step: OnStep
    ) -> TrainingReport | GpusizerError:
        fetch = watched(sizer.fetch, on_step)
        return attempt(lambda: train(fetch, sizer.catalogue, fields))

    def train_again(
        self, address: Mapping[str, str], token: gr.OAuthToken | None
    ) -> Iterator[Outputs]:
        """Yield the form's values for an address with what `train` yields."""
        fields = _fields(_TRAINING, address)
        shown = fields | {"method": _known_method(str(fields["method"]))}
        for outputs in self.train(token, *fields.values(), *_own("train", address)):
            yield *shown.values(), *outputs

    def models_for(
        self,
        gpu: object,
        task: object = "",
        context: object = "",
        license_name: object = "",
        live: object = False,
        *own: object,
    ) -> Iterator[Outputs]:
        """Yield what is done meanwhile, then the models that a card or a machine runs, their
        copies, and the query string."""
        values = (str(gpu).strip(), task, context, license_name, "true" if live else "", *own)
        pairs = zip((*_REVERSE, *OWN_FIELDS_OF["reverse"]), values, strict=False)
        fields = {name: value for name, value in pairs if value not in (None, "")}
        doing = "reverse.asking" if live else "reverse.sizing"
        yield waiting_html(self.words(doing)), *(gr.skip(),) * 4
        result = attempt(lambda: self._sizer.models_for({"gpu": "", **fields, "top": RANKED}))
        texts = _texts(fields)
        unusual = {name: text for name, text in texts.items() if text != _USUAL.get(name)}
        query = urlencode(unusual, errors="replace")
        if isinstance(result, GpusizerError):
            yield "", error_html(result, (), self.words), gr.update(visible=False), "", query
            return
        models = gr.update(visible=False)
        if result.rows:
            rows = models_grid(result, self.words).value(MODELS_COLUMNS, self.words)
            models = gr.update(value=rows, visible=True)
        copies = copies_html(result, self.words)
        yield "", models_for_html(result, self.words), models, copies, query

    def models_for_again(self, address: Mapping[str, str]) -> Iterator[Outputs]:
        """Yield the form's values for an address with what `models_for` yields."""
        fields = _fields(_REVERSE, address)
        gpu, task, context, license_name, live = fields.values()
        is_live = str(live).lower() in ("true", "1", "yes", "on")
        shown = (gpu, _known_task(str(task)), context, license_name, is_live)
        own = _own("reverse", address)
        for outputs in self.models_for(gpu, task, context, license_name, is_live, *own):
            yield *shown, *outputs

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


def _own(tab: str, address: Mapping[str, str]) -> list[str]:
    """Return the values of a tab's own fields for an address, "" for those that it omits."""
    return [address.get(name, "")[:_MAX_CHARS] for name in OWN_FIELDS_OF[tab]]


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


def _number(text: str) -> int | None:
    """Return the value of a number field; None, which empties it, for any other text."""
    return int(text) if text.isdecimal() and len(text) < 8 else None
