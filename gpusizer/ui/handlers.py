"""What happens when somebody asks, picks or ranks: state in, rendered pieces out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

import gradio as gr

from gpusizer.errors import GpusizerError
from gpusizer.logs.check import check
from gpusizer.report import Report
from gpusizer.sizer import Sizer
from gpusizer.text import Language
from gpusizer.ui.answering import PageAnswer, answer, compare, pictures, rank, remembering
from gpusizer.ui.choices import MAX_PICKS, default_gpus
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.cards import cards_html
from gpusizer.ui.presenters.catalogue import catalogue_html
from gpusizer.ui.presenters.charts.page import pictures_html
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.frame import status_html
from gpusizer.ui.presenters.html import join
from gpusizer.ui.presenters.log import log_html
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.share import download
from gpusizer.ui.presenters.tables import memory_html, ranking_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.state import PageState

RANKED = 60
"""Rows of the ranking the page holds."""

Outputs = tuple[Any, ...]
"""Values for components, in the order of their tab."""
_SKIP: Outputs = (gr.skip(),) * 11
_FORM = 4  # fields of the question
_TABS = ("size", "compare", "reverse", "catalogue", "know", "log")
_MAX_GPU_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Filled:
    """What an address fills: the tab that is open, and the components of each tab."""

    tab: str
    size: Outputs = _SKIP
    compare: Outputs = _SKIP[:3]
    reverse: Outputs = _SKIP[:3]
    catalogue: Outputs = _SKIP[:1]

    @property
    def outputs(self) -> Outputs:
        """Values in the page's order."""
        tabs = gr.skip() if self.tab == "size" else gr.Tabs(selected=self.tab)
        return (tabs, *self.size, *self.compare, *self.reverse, *self.catalogue)


_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Handlers:
    """The listeners of one page."""

    def __init__(self, sizer: Sizer, language: Language, examples: Sequence[str]) -> None:
        self.words = Words(language)
        self._sizer = sizer
        self._examples = tuple(examples)

    @property
    def gpu_names(self) -> list[str]:
        """Names the adding field suggests."""
        return [gpu.name for gpu in self._sizer.catalogue.gpus]

    def ask(self, *values: object) -> Iterator[Outputs]:
        """Answer what the form says; the same model keeps its picked GPUs."""
        *form, query = values
        before, asked = PageState.from_query(str(query)), PageState.from_form(*form)
        gpus = before.gpus if before.model == asked.model else None
        yield from self._show(replace(asked, rank_by=before.rank_by, gpus=gpus))

    def choose(
        self, model: str, context: object, concurrency: object, engine: str, event: gr.EventData
    ) -> Iterator[Outputs]:
        """Answer for the example that was clicked."""
        yield from self._show(PageState.from_form(event.model, context, concurrency, engine))

    def load(self, request: gr.Request) -> Iterator[Outputs]:
        """Answer what the address asks for, if anything: the tab, then what stands in each."""
        state = PageState.from_query(str(request.query_params))
        only_gpus = bool(state.gpus) and not state.model
        tab = state.tab if state.tab in _TABS else "compare" if only_gpus else "size"
        filled = _Filled(tab)
        if tab == "catalogue":
            filled = replace(filled, catalogue=(self.catalogue(),))
        elif tab == "compare":
            filled = replace(filled, compare=(state.model, *self._cards(self._sizer, state)))
        elif tab == "reverse":
            asked = str(request.query_params.get("gpu") or "")[:_MAX_GPU_CHARS]
            if asked:
                filled = replace(filled, reverse=(asked, *self.models_for(asked, "", "")))
        elif tab == "size" and state.model:
            for outputs in self._show(state):
                yield replace(filled, size=outputs).outputs
            return
        yield filled.outputs

    @property
    def no_cards(self) -> str:
        """The comparison before a GPU is picked."""
        return cards_html(None, (), "", self.words)

    def catalogue(self) -> str:
        """Every GPU in a table."""
        return catalogue_html(self._sizer.catalogue.gpus, self.words)

    def models_for(self, gpu: str, task: str, context: object) -> Outputs:
        """What a card or a machine runs, and the address of that."""
        asked = str(gpu).strip()
        fields = {"gpu": asked, "model_task": task, "context": context, "top": RANKED}
        result = self._try(lambda: self._sizer.models_for(fields))
        query = urlencode({"gpu": asked})
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words), query
        return models_for_html(result, self.words), query

    def check_log(self, text: str, model: str, gpu: str) -> str:
        """A pasted log against the prediction for its run."""
        result = self._try(lambda: check(self._sizer, text, str(model), gpu=str(gpu)))
        if isinstance(result, GpusizerError):
            return error_html(result, (), self.words)
        return log_html(result, self.words)

    def compare_for(self, model: str, query: str) -> Outputs:
        """The same GPUs with another model, or without one."""
        state = replace(PageState.from_query(query), model=str(model).strip())
        return self._cards(self._sizer, state)

    def pick_alone(self, query: str, event: gr.EventData) -> Outputs:
        """`pick` where there are no pictures."""
        cards, _, query = self.pick(query, event)
        return cards, query

    def drop_alone(self, query: str, event: gr.EventData) -> Outputs:
        """`drop` where there are no pictures."""
        cards, _, query = self.drop(query, event)
        return cards, query

    def pick(self, query: str, event: gr.EventData) -> Outputs:
        """Put one more GPU side by side."""
        state, gpu = PageState.from_query(query), str(event.gpu)[:100].replace(",", " ")
        picks = state.gpus or ()
        if gpu not in picks and len(picks) >= MAX_PICKS:
            full = self.words("cards.full", count=MAX_PICKS)
            return self._with_old_pictures(self._cards(self._sizer, state, full))
        return self._repicked(state, (*picks, gpu))

    def drop(self, query: str, event: gr.EventData) -> Outputs:
        """Take one GPU away."""
        state = PageState.from_query(query)
        return self._repicked(state, [gpu for gpu in state.gpus or () if gpu != event.gpu])

    def rank(self, query: str, event: gr.EventData) -> Outputs:
        """The ranking in another order."""
        state = replace(PageState.from_query(query), rank_by=str(event.order))
        report = self._try(lambda: rank(self._sizer, state, RANKED))
        if isinstance(report, GpusizerError):
            return error_html(report, (), self.words), query
        return ranking_html(report, self.words), state.query

    def share(self, query: str, event: gr.EventData) -> str:
        """The answer on the page as a file, for the browser to save; "" where there is none."""
        state = PageState.from_query(query)
        report = self._try(lambda: rank(self._sizer, state, RANKED))
        if isinstance(report, GpusizerError):
            return ""
        made = download(report, str(event.kind), self.words)
        return "" if made is None else made.to_json()

    def _show(self, state: PageState) -> Iterator[Outputs]:
        """First what is being read, then the answer or why there is none."""
        yield (*state.form, status_html(state.model, self.words), *_SKIP[_FORM + 1 :])
        sizer = remembering(self._sizer)
        result = self._try(lambda: answer(sizer, state, RANKED))
        if isinstance(result, GpusizerError):
            panel = error_html(result, self._examples[:3], self.words)
            yield (*_SKIP[:_FORM], "", panel, "", "", "", "", state.query)
            return
        if state.gpus is None:
            state = state.picking(default_gpus(result.tiers))
        cards, query = self._cards(sizer, state)
        yield (
            *_SKIP[:_FORM],
            "",
            self._first(result),
            cards,
            *self._tables(sizer, state, result),
            query,
        )

    def _first(self, result: PageAnswer) -> str:
        facts = facts_html(result.report.profile, self.words)
        return join((answer_html(result, self.words), facts))

    def _tables(self, sizer: Sizer, state: PageState, result: PageAnswer) -> tuple[str, str, str]:
        report = result.report
        drawn = self._pictures(sizer, state, result.whole)
        return memory_html(report, self.words), drawn, ranking_html(report, self.words)

    def _pictures(self, sizer: Sizer, state: PageState, whole: Report | None = None) -> str:
        """Pictures of a state; without the lines of its GPUs when one of them is unknown."""
        made = self._try(lambda: pictures(sizer, state, whole))
        if isinstance(made, GpusizerError):
            made = self._try(lambda: pictures(sizer, state.picking(()), whole))
        return "" if isinstance(made, GpusizerError) else pictures_html(made, self.words)

    def _repicked(self, before: PageState, gpus: Iterable[str]) -> Outputs:
        """The cards of other GPUs; the ones before, and why, when there is an unknown one."""
        after, sizer = before.picking(gpus), remembering(self._sizer)
        result = self._try(lambda: compare(sizer, after))
        if isinstance(result, GpusizerError):
            return self._with_old_pictures(self._cards(sizer, before, self.words.error(result)))
        drawn = self._pictures(sizer, after) if after.model else ""
        return cards_html(result, after.gpus or (), "", self.words), drawn, after.query

    @staticmethod
    def _with_old_pictures(cards: Outputs) -> Outputs:
        return cards[0], gr.skip(), cards[1]

    def _cards(self, sizer: Sizer, state: PageState, message: str = "") -> Outputs:
        """The cards of a state, none of them when one of its GPUs is unknown."""
        result = self._try(lambda: compare(sizer, state))
        if isinstance(result, GpusizerError):
            return cards_html(None, (), self.words.error(result), self.words), state.query
        return cards_html(result, state.gpus or (), message, self.words), state.query

    def _try(self, answer: Callable[[], _Answer]) -> _Answer | GpusizerError:
        try:
            return answer()
        except GpusizerError as error:
            return error
        except Exception:
            _log.exception("unexpected failure")
            return GpusizerError()
