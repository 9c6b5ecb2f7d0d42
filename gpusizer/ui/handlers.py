"""The listeners of a page for sizing and comparing: they take its state and return markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import gradio as gr

from gpusizer.answers.comparison import Comparison
from gpusizer.answers.model_card.own_terms import terms_of
from gpusizer.answers.report import Report
from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import GpusizerError
from gpusizer.gpus import saved_gpus
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.text import Language
from gpusizer.ui.answering import PageAnswer, answer, compare, pictures, rank, remembering
from gpusizer.ui.answers import ForVisitor
from gpusizer.ui.attempts import RANKED, Outputs, attempt
from gpusizer.ui.choices import MAX_PICKS, default_gpus
from gpusizer.ui.endpoints import with_rights
from gpusizer.ui.other_tabs import Questions
from gpusizer.ui.own_outputs import own_outputs
from gpusizer.ui.page_state import FORM_FIELDS, PageState
from gpusizer.ui.picked_memory import on_possible_gpus
from gpusizer.ui.plots import PICTURES, pictures_outputs
from gpusizer.ui.presenters.addresses import question_href
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.cards import cards_html, gpu_names_html
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.examples import links_html, sample_html
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.html import Html, join
from gpusizer.ui.presenters.model_card import model_card_html
from gpusizer.ui.presenters.serving_plan import serving_plan_html
from gpusizer.ui.presenters.share import download
from gpusizer.ui.presenters.tables import (
    RANKING_COLUMNS,
    memory_html,
    ranking_grid,
    ranking_html,
)
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.reading import Reading, told
from gpusizer.ui.tab_examples import comparisons

_FORM = 1 + len(FORM_FIELDS)  # the model, and the other fields of the form
_SKIP: Outputs = (gr.skip(),) * (_FORM + 8)
_TABS = ("size", "compare", "train", "reverse", "catalogue", "know", "log")


@dataclass(frozen=True, slots=True)
class _Filled:
    """Values for the components that an address fills: the open tab, and those of each tab."""

    tab: str
    size: Outputs = _SKIP
    compare: Outputs = _SKIP[:4]
    train: Outputs = _SKIP[:8]
    reverse: Outputs = _SKIP[:10]
    catalogue: Outputs = _SKIP[:2]
    accuracy: Outputs = _SKIP[:1]

    @property
    def outputs(self) -> Outputs:
        """Values in the page's order."""
        tabs = gr.skip() if self.tab == "size" else gr.Tabs(selected=self.tab)
        fields = (*self.size, *self.compare, *self.train, *self.reverse)
        return (tabs, *fields, *self.catalogue, *self.accuracy)


class Handlers:
    """The listeners of the page in one language."""

    def __init__(
        self,
        sizer: Sizer,
        for_visitor: ForVisitor,
        language: Language,
        examples: Sequence[str],
        sample: PageAnswer | None = None,
    ) -> None:
        self.words = Words(language)
        self._sizer = sizer
        self._for_visitor = for_visitor
        self._examples = tuple(examples)
        self._sample = sample
        self.questions = Questions(sizer, for_visitor, self.words)

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        """Return a Sizer that reads with the rights of a signed-in visitor, else anonymously."""
        return with_rights(self._sizer, self._for_visitor, token)

    def _saved(self, profile: gr.OAuthProfile | None) -> tuple[str, ...] | None:
        """Return the GPUs in a visitor's Hub profile; None, which means defaults, without any."""
        items = None if profile is None else profile.get("hardwareItems")
        return saved_gpus(items, self._sizer.catalogue, MAX_PICKS) or None

    @property
    def gpu_count(self) -> int:
        """Number of GPUs in the catalogue."""
        return len(self._sizer.catalogue.gpus)

    @property
    def sample(self) -> Html | None:
        """The example of an answer, None where no model is embedded."""
        return None if self._sample is None else sample_html(self._sample, self.words)

    def gpu_names(self) -> str:
        """Return the names that the field for adding a GPU suggests."""
        return gpu_names_html([gpu.name for gpu in self._sizer.catalogue.gpus])

    def ask(
        self,
        token: gr.OAuthToken | None,
        profile: gr.OAuthProfile | None,
        query: str,
        model: str,
        *form: object,
    ) -> Iterator[Outputs]:
        """Answer the question in the form; picked GPUs stay as long as the model stays."""
        before = PageState.from_query(query)
        question = PageState.from_form(model, *form)
        gpus = before.gpus if before.model == question.model else self._saved(profile)
        yield from self._show(replace(question, rank_by=before.rank_by, gpus=gpus), token)

    def choose(
        self,
        token: gr.OAuthToken | None,
        profile: gr.OAuthProfile | None,
        event: gr.EventData,
        model: str,
        *form: object,
    ) -> Iterator[Outputs]:
        """Answer for the example that was clicked; a draft model is another's."""
        state = PageState.from_form(event.model, *form)
        state = replace(state, gpus=self._saved(profile), draft_model="", acceptance_rate="")
        yield from self._show(state, token)

    def load(
        self,
        request: gr.Request,
        token: gr.OAuthToken | None = None,
        profile: gr.OAuthProfile | None = None,
    ) -> Iterator[Outputs]:
        """Open the tab that the address names, and answer the question in its query string."""
        address = dict(request.query_params)
        state = PageState.from_query(str(request.query_params))
        only_gpus = bool(state.gpus) and not state.model
        if state.gpus is None:
            state = replace(state, gpus=self._saved(profile))
        tab = state.tab if state.tab in _TABS else "compare" if only_gpus else "size"
        own = own_outputs(state)
        for filled in self._answered(_Filled(tab), state, address, token):
            yield *filled.outputs, *own
            own = (gr.skip(),) * len(own)  # the visitor may have begun to type

    def _answered(
        self,
        filled: _Filled,
        state: PageState,
        address: Mapping[str, str],
        token: gr.OAuthToken | None,
    ) -> Iterator[_Filled]:
        """Yield the values for the open tab: its fields, what is told meanwhile, its answer."""
        tab = filled.tab
        if tab == "catalogue":
            yield replace(filled, catalogue=self.questions.catalogue())
        elif tab == "know":
            yield replace(filled, accuracy=(self.questions.accuracy(),))
        elif tab == "compare":
            for outputs in self._compared(state, token):
                yield replace(filled, compare=(state.model, *outputs))
        elif tab == "reverse" and address.get("gpu"):
            for outputs in self.questions.models_for_again(address):
                yield replace(filled, reverse=outputs)
        elif tab == "train" and state.model:
            for outputs in self.questions.train_again(address, token):
                yield replace(filled, train=outputs)
        elif tab == "size" and state.model:
            for outputs in self._show(state, token):
                yield replace(filled, size=outputs)
        else:
            yield filled

    @property
    def no_cards(self) -> str:
        """The comparison's markup before a GPU is picked."""
        return self._no_cards()

    def compare_for(
        self, token: gr.OAuthToken | None, query: str, model: object, *own: object
    ) -> Iterator[Outputs]:
        """Compare the picked GPUs with another model, or without one."""
        state = replace(PageState.from_query(query), model=str(model).strip()).with_own(own)
        yield from self._compared(state, token)

    def _compared(self, state: PageState, token: gr.OAuthToken | None) -> Iterator[Outputs]:
        """Yield the status "reading" and its steps where a model is read, then the cards."""
        if not (state.model and state.gpus):
            yield "", *self._cards(self._of(token), state)
            return
        reading = Reading(partial(self._read_and_compare, self._of(token), state))
        for status in told(reading, state.model, self.words):
            yield status, *_SKIP[:2]
        yield "", *reading.result

    def _read_and_compare(self, sizer: Sizer, state: PageState, on_step: OnStep) -> Outputs:
        return self._cards(sizer.reading(watched(sizer.fetch, on_step)), state)

    def pick(
        self, token: gr.OAuthToken | None, query: str, event: gr.EventData, *own: object
    ) -> Outputs:
        """Add a GPU to the comparison."""
        state = PageState.from_query(query).with_own(own)
        gpu, picks = str(event.gpu)[:100].replace(",", " "), state.gpus or ()
        if gpu not in picks and len(picks) >= MAX_PICKS:
            full = self.words("cards.full", count=MAX_PICKS)
            return self._cards(self._of(token), state, full)
        return self._repicked(state, (*picks, gpu), token)

    def drop(
        self, token: gr.OAuthToken | None, query: str, event: gr.EventData, *own: object
    ) -> Outputs:
        """Remove a GPU from the comparison."""
        state = PageState.from_query(query).with_own(own)
        remaining = [gpu for gpu in state.gpus or () if gpu != event.gpu]
        return self._repicked(state, remaining, token)

    def rank(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> Outputs:
        """Rank by another policy, and name its first place in the headline."""
        state = replace(PageState.from_query(query), rank_by=str(event.order))
        sizer = remembering(self._of(token))
        result = attempt(lambda: answer(sizer, state))
        if isinstance(result, GpusizerError):
            panel = error_html(result, (), self.words)
            return gr.skip(), panel, gr.update(visible=False), query
        return self._first(result, state), *self._ranking(result.report), state.query

    def draw(self, query: str, token: gr.OAuthToken | None = None) -> Outputs:
        """Draw the pictures of a query; return it with them."""
        state, sizer = PageState.from_query(query), remembering(self._of(token))
        result = attempt(lambda: pictures(sizer, state))
        if isinstance(result, GpusizerError):  # then without GPUs: one of them may be unknown
            result = attempt(lambda: pictures(sizer, state.picking(())))
        shown_pictures = None if isinstance(result, GpusizerError) else result
        return query, *pictures_outputs(shown_pictures, self.words)

    def redraw(self, query: str, drawn_query: str, token: gr.OAuthToken | None = None) -> Outputs:
        """Draw the pictures of a new query if the visitor has unfolded the pictures before."""
        if not drawn_query or drawn_query == query:
            return (gr.skip(),) * PICTURES
        return self.draw(query, token)

    def share(self, query: str, event: gr.EventData, token: gr.OAuthToken | None = None) -> str:
        """Return the page's answer as a file for the browser to save, "" where there is none."""
        state = PageState.from_query(query)
        report = attempt(lambda: rank(self._of(token), state, RANKED))
        if isinstance(report, GpusizerError):
            return ""
        file = download(report, str(event.kind), self.words)
        return "" if file is None else file.to_json()

    def _show(self, state: PageState, token: gr.OAuthToken | None) -> Iterator[Outputs]:
        """Yield the status "reading" and its steps, then the answer or the error."""
        reading = Reading(partial(_read_and_answer, self._of(token), state))
        form: Outputs = state.form
        for status in told(reading, state.model, self.words):
            yield (*form, status, *_SKIP[_FORM + 1 :])
            form = _SKIP[:_FORM]
        sizer, result = reading.result
        hidden = gr.update(visible=False)
        if isinstance(result, GpusizerError):
            panel = error_html(result, self._examples[:3], self.words)
            yield (*_SKIP[:_FORM], "", panel, "", "", hidden, "", hidden, state.query)
            return
        if state.gpus is None:
            state = state.picking(default_gpus(result.report.ranking))
        cards, query = self._cards(sizer, state)
        yield (
            *_SKIP[:_FORM],
            "",
            self._first(result, state),
            cards,
            memory_html(result.report, self.words),
            gr.update(visible=True),
            *self._ranking(result.report),
            query,
        )

    def _first(self, result: PageAnswer, state: PageState) -> str:
        """Return the answer, what the author says, and the facts."""
        profile, card = result.report.profile, result.report.model_card
        terms = terms_of(card.command, profile) if card and card.command else {}
        as_author = question_href(state.as_author(terms).query, self.words.language)
        said = model_card_html(card, self.words, as_author)
        return join((answer_html(result, self.words), said, facts_html(profile, self.words)))

    def _ranking(self, report: Report) -> Outputs:
        """Return the ranking's heading and its grid."""
        rows = ranking_grid(report, self.words).value(RANKING_COLUMNS, self.words)
        grid = gr.update(value=rows, visible=bool(report.ranking))
        plan = serving_plan_html(report.serving_plan, self.words)
        return join((plan, ranking_html(report, self.words))), grid

    def _repicked(
        self, before: PageState, gpus: Iterable[str], token: gr.OAuthToken | None
    ) -> Outputs:
        """Return cards for other GPUs; if one is unknown, the former cards and a message."""
        after, sizer = before.picking(gpus), remembering(self._of(token))
        result = attempt(lambda: compare(sizer, after))
        if isinstance(result, GpusizerError):
            return self._cards(sizer, before, self.words.error(result))
        return self._shown(result, after)

    def _cards(self, sizer: Sizer, state: PageState, message: str = "") -> Outputs:
        """Return the cards of a state; an empty comparison when one of its GPUs is unknown."""
        result = attempt(lambda: compare(sizer, state))
        if isinstance(result, GpusizerError):
            return self._no_cards(state.model, self.words.error(result)), state.query
        return self._shown(result, state, message)

    def _shown(self, comparison: Comparison | None, state: PageState, message: str = "") -> Outputs:
        """Return cards with messages: the given one, and which GPUs are counted whole."""
        if comparison is None:
            return self._no_cards(state.model, message), state.query
        _, refusals = on_possible_gpus(state, self._sizer.catalogue)
        whole = [self.words("own.whole", why=self.words.error(error)) for error in refusals]
        messages = " ".join(filter(None, (message, *whole)))
        return cards_html(comparison, state.gpus or (), messages, self.words), state.query

    def _no_cards(self, model: str = "", message: str = "") -> Html:
        """Return the empty comparison, with examples for a model."""
        examples = links_html(comparisons(model), self.words)
        return cards_html(None, (), message, self.words, examples)


def _read_and_answer(
    sizer: Sizer, state: PageState, on_step: OnStep
) -> tuple[Sizer, PageAnswer | GpusizerError]:
    """Return a Sizer that has read the state's model, and its answer or error."""
    reader = remembering(sizer.reading(watched(sizer.fetch, on_step)))
    return reader, attempt(lambda: answer(reader, state))
