"""What happens when somebody asks, picks or ranks: state in, rendered pieces out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import gradio as gr

from gpusizer.errors import GpusizerError
from gpusizer.gpus import saved_gpus
from gpusizer.report import Report
from gpusizer.sizer import Sizer
from gpusizer.text import Language
from gpusizer.ui.answering import PageAnswer, answer, compare, pictures, rank, remembering
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.choices import MAX_PICKS, default_gpus
from gpusizer.ui.endpoints import ForVisitor, with_rights
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.cards import cards_html, gpu_names_html
from gpusizer.ui.presenters.charts.page import pictures_html
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.frame import status_html
from gpusizer.ui.presenters.html import join
from gpusizer.ui.presenters.share import download
from gpusizer.ui.presenters.tables import memory_html, ranking_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.questions import Questions
from gpusizer.ui.state import PageState

_SKIP: Outputs = (gr.skip(),) * 11
_FORM = 4  # fields of the question
_TABS = ("size", "compare", "train", "reverse", "catalogue", "know", "log")


@dataclass(frozen=True, slots=True)
class _Filled:
    """What an address fills: the tab that is open, and the components of each tab."""

    tab: str
    size: Outputs = _SKIP
    compare: Outputs = _SKIP[:3]
    train: Outputs = _SKIP[:7]
    reverse: Outputs = _SKIP[:5]
    catalogue: Outputs = _SKIP[:1]
    know: Outputs = _SKIP[:1]

    @property
    def outputs(self) -> Outputs:
        """Values in the page's order."""
        tabs = gr.skip() if self.tab == "size" else gr.Tabs(selected=self.tab)
        fields = (*self.size, *self.compare, *self.train, *self.reverse)
        return (tabs, *fields, *self.catalogue, *self.know)


class Handlers:
    """The listeners of one page."""

    def __init__(
        self, sizer: Sizer, for_visitor: ForVisitor, language: Language, examples: Sequence[str]
    ) -> None:
        self.words = Words(language)
        self._sizer = sizer
        self._for_visitor = for_visitor
        self._examples = tuple(examples)
        self.questions = Questions(sizer, for_visitor, self.words)

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        """Reads with the rights of a visitor who signed in, as anybody else without."""
        return with_rights(self._sizer, self._for_visitor, token)

    def _saved(self, profile: gr.OAuthProfile | None) -> tuple[str, ...] | None:
        """The GPUs that a visitor who signed in keeps on the Hub; None, to choose, without any."""
        items = None if profile is None else profile.get("hardwareItems")
        return saved_gpus(items, self._sizer.catalogue, MAX_PICKS) or None

    @property
    def gpu_count(self) -> int:
        """GPUs of the catalogue."""
        return len(self._sizer.catalogue.gpus)

    def gpu_names(self) -> str:
        """Names the adding field suggests."""
        return gpu_names_html([gpu.name for gpu in self._sizer.catalogue.gpus])

    def ask(
        self,
        model: str,
        context: object,
        concurrency: object,
        engine: str,
        query: str,
        token: gr.OAuthToken | None = None,
        profile: gr.OAuthProfile | None = None,
    ) -> Iterator[Outputs]:
        """Answer what the form says; the same model keeps its picked GPUs."""
        before = PageState.from_query(query)
        asked = PageState.from_form(model, context, concurrency, engine)
        gpus = before.gpus if before.model == asked.model else self._saved(profile)
        yield from self._show(replace(asked, rank_by=before.rank_by, gpus=gpus), token)

    def choose(
        self,
        model: str,
        context: object,
        concurrency: object,
        engine: str,
        event: gr.EventData,
        token: gr.OAuthToken | None = None,
        profile: gr.OAuthProfile | None = None,
    ) -> Iterator[Outputs]:
        """Answer for the example that was clicked."""
        state = PageState.from_form(event.model, context, concurrency, engine)
        yield from self._show(replace(state, gpus=self._saved(profile)), token)

    def load(
        self,
        request: gr.Request,
        token: gr.OAuthToken | None = None,
        profile: gr.OAuthProfile | None = None,
    ) -> Iterator[Outputs]:
        """Answer what the address asks for, if anything: the tab, then what stands in each."""
        state = PageState.from_query(str(request.query_params))
        only_gpus = bool(state.gpus) and not state.model
        if state.gpus is None:
            state = replace(state, gpus=self._saved(profile))
        tab = state.tab if state.tab in _TABS else "compare" if only_gpus else "size"
        filled, asked = _Filled(tab), dict(request.query_params)
        if tab == "catalogue":
            filled = replace(filled, catalogue=(self.questions.catalogue(),))
        elif tab == "know":
            filled = replace(filled, know=(self.questions.accuracy(),))
        elif tab == "compare":
            filled = replace(filled, compare=(state.model, *self._cards(self._of(token), state)))
        elif tab == "reverse" and asked.get("gpu"):
            filled = replace(filled, reverse=self.questions.models_for_again(asked))
        elif tab == "train" and state.model:
            filled = replace(filled, train=self.questions.train_again(asked, token))
        elif tab == "size" and state.model:
            for outputs in self._show(state, token):
                yield replace(filled, size=outputs).outputs
            return
        yield filled.outputs

    @property
    def no_cards(self) -> str:
        """The comparison before a GPU is picked."""
        return cards_html(None, (), "", self.words)

    def compare_for(self, model: str, query: str, token: gr.OAuthToken | None = None) -> Outputs:
        """The same GPUs with another model, or without one."""
        state = replace(PageState.from_query(query), model=str(model).strip())
        return self._cards(self._of(token), state)

    def pick_alone(
        self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None
    ) -> Outputs:
        """`pick` where there are no pictures."""
        cards, _, query = self.pick(query, event, token)
        return cards, query

    def drop_alone(
        self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None
    ) -> Outputs:
        """`drop` where there are no pictures."""
        cards, _, query = self.drop(query, event, token)
        return cards, query

    def pick(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> Outputs:
        """Put one more GPU side by side."""
        state, gpu = PageState.from_query(query), str(event.gpu)[:100].replace(",", " ")
        picks = state.gpus or ()
        if gpu not in picks and len(picks) >= MAX_PICKS:
            full = self.words("cards.full", count=MAX_PICKS)
            return self._with_old_pictures(self._cards(self._of(token), state, full))
        return self._repicked(state, (*picks, gpu), token)

    def drop(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> Outputs:
        """Take one GPU away."""
        state = PageState.from_query(query)
        left = [gpu for gpu in state.gpus or () if gpu != event.gpu]
        return self._repicked(state, left, token)

    def rank(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> Outputs:
        """The ranking in another order."""
        state = replace(PageState.from_query(query), rank_by=str(event.order))
        report = attempt(lambda: rank(self._of(token), state, RANKED))
        if isinstance(report, GpusizerError):
            return error_html(report, (), self.words), query
        return ranking_html(report, self.words), state.query

    def share(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> str:
        """The answer on the page as a file, for the browser to save; "" where there is none."""
        state = PageState.from_query(query)
        report = attempt(lambda: rank(self._of(token), state, RANKED))
        if isinstance(report, GpusizerError):
            return ""
        made = download(report, str(event.kind), self.words)
        return "" if made is None else made.to_json()

    def _show(self, state: PageState, token: gr.OAuthToken | None) -> Iterator[Outputs]:
        """First what is being read, then the answer or why there is none."""
        yield (*state.form, status_html(state.model, self.words), *_SKIP[_FORM + 1 :])
        sizer = remembering(self._of(token))
        result = attempt(lambda: answer(sizer, state, RANKED))
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
        made = attempt(lambda: pictures(sizer, state, whole))
        if isinstance(made, GpusizerError):
            made = attempt(lambda: pictures(sizer, state.picking(()), whole))
        return "" if isinstance(made, GpusizerError) else pictures_html(made, self.words)

    def _repicked(
        self, before: PageState, gpus: Iterable[str], token: gr.OAuthToken | None
    ) -> Outputs:
        """The cards of other GPUs; the ones before, and why, when there is an unknown one."""
        after, sizer = before.picking(gpus), remembering(self._of(token))
        result = attempt(lambda: compare(sizer, after))
        if isinstance(result, GpusizerError):
            return self._with_old_pictures(self._cards(sizer, before, self.words.error(result)))
        drawn = self._pictures(sizer, after) if after.model else ""
        return cards_html(result, after.gpus or (), "", self.words), drawn, after.query

    @staticmethod
    def _with_old_pictures(cards: Outputs) -> Outputs:
        return cards[0], gr.skip(), cards[1]

    def _cards(self, sizer: Sizer, state: PageState, message: str = "") -> Outputs:
        """The cards of a state, none of them when one of its GPUs is unknown."""
        result = attempt(lambda: compare(sizer, state))
        if isinstance(result, GpusizerError):
            return cards_html(None, (), self.words.error(result), self.words), state.query
        return cards_html(result, state.gpus or (), message, self.words), state.query
