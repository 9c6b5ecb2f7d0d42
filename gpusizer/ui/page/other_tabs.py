"""Listeners of the other tabs: training, models for a GPU, a desk, a pasted log, the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import gradio as gr
from markupsafe import Markup

from gpusizer.core.errors import GpusizerError
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.logs.log_checks import check
from gpusizer.ui.page.asked import START, FormCall, Shown
from gpusizer.ui.page.forms import FORMS, OF_NAMED_GPUS, Form, query_of
from gpusizer.ui.page.plots import figure_shown
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.catalogue import catalogue_html, sold_first
from gpusizer.ui.presenters.charts.quality import models_plot
from gpusizer.ui.presenters.desk import desk_html
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import columns, copies_html, models_for_html
from gpusizer.ui.presenters.pieces.errors import error_html
from gpusizer.ui.presenters.pieces.frame import waiting_html
from gpusizer.ui.presenters.pieces.grid import grid_update, grid_value
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.server.answer_cache import ForVisitor
from gpusizer.ui.server.endpoints import with_rights
from gpusizer.ui.server.reading import RANKED, Reading, attempt, told
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.request import ListingRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train
from gpusizer.usecases.training_report import TrainingReport

_Record = TypeVar("_Record")


class TabHandlers:
    """Base of the listeners of a page in one language."""

    def __init__(self, sizer: Sizer, for_visitor: ForVisitor, words: Words) -> None:
        self.words = words
        self._sizer = sizer
        self._for_visitor = for_visitor

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        # With the rights of a signed-in visitor, else anonymously.
        return with_rights(self._sizer, self._for_visitor, token)


class Questions(TabHandlers):
    """Listeners of the tabs with one form or none."""

    def catalogue(self, query: object = "") -> Shown:
        """Return the GPUs that a query names as a table, all without one, and the text above it."""
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

    def train(self, asked: FormCall) -> Iterator[Shown]:
        """Yield the status while the model is read, then the answer about fine-tuning.

        It has memory, time and price, and the query string.
        """
        yield from self._read_and_tell("train", asked, _train, training_html)

    def desk(self, asked: FormCall) -> Iterator[Shown]:
        """Yield the status while models are read, then who lives where, and the query string."""
        yield from self._read_and_tell("desk", asked, _desk, desk_html)

    def _read_and_tell(
        self,
        tab: str,
        asked: FormCall,
        answer: Callable[[Sizer, Mapping[str, str]], _Record],
        html: Callable[[_Record, Words], Markup],
    ) -> Iterator[Shown]:
        """Answer the form of a tab whose first field names what is read."""
        form = FORMS[tab]
        texts, query = _asked(form, asked)
        named = texts.get(form.first[0], "")
        if (idle := _idle(asked, named, query)) is not None:
            yield idle
            return
        fields = form.fields(texts)
        if "gpu" not in fields:  # memory is stated of GPUs that are named
            fields = {name: text for name, text in fields.items() if name not in OF_NAMED_GPUS}
        sizer = self._of(asked.token)

        def read(on_step: OnStep) -> _Record | GpusizerError:
            watching = sizer.reading(watched(sizer.fetch, on_step))
            return attempt(lambda: answer(watching, fields))

        reading = Reading(read)
        for status in told(reading, named, self.words):
            yield {"status": status if named else ""}
        result = reading.result
        if isinstance(result, GpusizerError):
            shown = error_html(result, (), self.words)
        else:
            shown = html(result, self.words)
        yield {"status": "", "answer": shown, "query": query}

    def models_for(self, asked: FormCall) -> Iterator[Shown]:
        """Yield the status, then the models that a card or a machine runs, and the query string."""
        texts, query = _asked(FORMS["reverse"], asked)
        if (idle := _idle(asked, texts.get("gpu", ""), query)) is not None:
            yield idle
            return
        doing = "reverse.asking" if "live" in texts else "reverse.sizing"
        yield {"status": waiting_html(self.words(doing))}
        request = {"gpu": "", **FORMS["reverse"].fields(texts), "top": RANKED}
        result = attempt(lambda: self._sizer.models_for(ModelsRequest.from_fields(request)))
        models, copies, plot = gr.update(visible=False), "", None
        if isinstance(result, GpusizerError):
            answer = error_html(result, (), self.words)
        else:
            answer, copies = models_for_html(result, self.words), copies_html(result, self.words)
            if result.rows:
                shown_columns = columns(result.request.gpu, result.request.work)
                models = gr.update(**grid_update(shown_columns, result.rows, self.words))
            plot = models_plot(result, self.words)
        picture = {"picture": gr.update(visible=plot is not None), **figure_shown("quality", plot)}
        shown = {"answer": answer, "models": models, "copies": copies, **picture}
        yield {"status": "", **shown, "query": query}

    def check_log(
        self, text: str, model: object, gpu: object, token: gr.OAuthToken | None = None
    ) -> str:
        """Return the comparison of a pasted log with the prediction for its run."""
        result = attempt(lambda: check(self._of(token), text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)


def _train(sizer: Sizer, fields: Mapping[str, str]) -> TrainingReport:
    return train(sizer, TrainingRequest.from_fields(fields))


def _desk(sizer: Sizer, fields: Mapping[str, str]) -> Desk:
    return desk(sizer, DeskRequest.from_fields(fields))


def _asked(form: Form, asked: FormCall) -> tuple[dict[str, str], str]:
    # Texts and query string of an opened address, or of the form.
    address = asked.last("load")
    texts = form.texts(asked.fields) if address is None else form.read(address)
    return texts, query_of(texts)


def _idle(asked: FormCall, subject: str, query: str) -> Shown | None:
    # Values if no answer is due; None for a new question, or if the visitor demands an answer.
    if not subject and asked.last("ask") is None:
        return START if asked.query and asked.last("load") is not None else {}
    return {} if query == asked.query and not asked.forces_answer else None


def _listed(above: str, table: object = None) -> Shown:
    # A table without rows is hidden.
    grid = gr.update(visible=False) if table is None else table
    return {"catalogue.heading": above, "catalogue.table": grid}
