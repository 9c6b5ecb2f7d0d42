"""Listeners of a page for sizing and comparing: they take its state and return markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

import gradio as gr
from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.core.errors import GpusizerError
from gpusizer.fit.machine_parser import is_mixed, split_machines
from gpusizer.gpus import saved_gpus
from gpusizer.hub.reading_steps import OnStep, watched
from gpusizer.text import Language
from gpusizer.ui.page.answering import (
    Reports,
    answer,
    compare,
    pictures,
    read_and_answer,
    remembering,
    report_of,
)
from gpusizer.ui.page.asked import START, ComparisonUpdate, FormCall, Shown, events_of
from gpusizer.ui.page.forms import FORMS, OWN_FIELDS, SEVERAL
from gpusizer.ui.page.machine_fields import own_fields, typed_gpus
from gpusizer.ui.page.other_tabs import Questions, TabHandlers
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.page.picked_memory import on_possible_gpus
from gpusizer.ui.page.plots import pictures_shown
from gpusizer.ui.presenters.answer import View, answer_html
from gpusizer.ui.presenters.beside.side_by_side import (
    PLANS,
    Plans,
    gpu_names_html,
    side_by_side_html,
)
from gpusizer.ui.presenters.choices import MAX_PICKS, PageAnswer, default_gpus
from gpusizer.ui.presenters.examples import links_html, sample_html
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.model_card import model_card_html
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.errors import error_html
from gpusizer.ui.presenters.pieces.grid import grid_update
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.published_results import published_results_html
from gpusizer.ui.presenters.serving_plan import serving_plan_html
from gpusizer.ui.presenters.share import download
from gpusizer.ui.presenters.tab_examples import comparisons
from gpusizer.ui.presenters.tables import memory_html, ranking_columns, ranking_html
from gpusizer.ui.server.answer_cache import ForVisitor
from gpusizer.ui.server.reading import Reading, attempt, told
from gpusizer.usecases.comparison import Comparison
from gpusizer.usecases.model_card.own_terms import terms_of
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.sizer import Sizer

_TABS = (*FORMS, "know")

# Parts of tabs that were tabs of their own, by name in an address, with their tab.
PARTS = {"catalogue": "compare", "log": "know"}
_MAX_CHARS = 300


class Handlers(TabHandlers):
    """Listeners of the page in one language."""

    def __init__(
        self,
        sizer: Sizer,
        for_visitor: ForVisitor,
        language: Language,
        examples: Sequence[str],
        sample: PageAnswer | None = None,
        reports: Reports | None = None,
    ) -> None:
        super().__init__(sizer, for_visitor, Words(language))
        self._examples = tuple(examples)
        self._sample = sample
        self._reports = reports or Reports()
        self.questions = Questions(sizer, for_visitor, self.words)

    def _reports_of(self, token: gr.OAuthToken | None) -> Reports:
        # Shared by visitors; reports read with a token are not kept.
        return self._reports if token is None else Reports()

    def _saved(self, profile: gr.OAuthProfile | None) -> tuple[str, ...] | None:
        # GPUs in a visitor's Hub profile; None means the defaults.
        items = None if profile is None else profile.get("hardwareItems")
        return saved_gpus(items, self._sizer.catalogue, MAX_PICKS) or None

    @property
    def sample(self) -> Markup | None:
        """Markup of an example answer, or None if no model is embedded."""
        return None if self._sample is None else sample_html(self._sample, self.words)

    def gpu_names(self) -> str:
        """Return the suggested names for the field that adds a GPU."""
        return gpu_names_html([gpu.name for gpu in self._sizer.catalogue.gpus])

    def load(self, search: str, moved: str) -> Shown:
        """Open the tab that an address names, fill its fields, and let it be answered.

        `search` is the address' query string; `moved` is "" when the page opens, and otherwise set
        when the visitor goes back or forward to the address.
        """
        query = search.removeprefix("?")
        state = PageState.from_query(query)
        only_gpus = bool(state.gpus) and not state.model
        tab = PARTS.get(state.tab, state.tab)
        if tab not in _TABS:
            tab = "compare" if only_gpus else "size"
        shown: Shown = {}
        if state.tab in PARTS:
            shown[f"{state.tab}.fold"] = gr.update(open=True)
        if moved or tab != "size":
            shown["tabs"] = gr.Tabs(selected=tab)
        if moved or not state.stated.keys().isdisjoint(OWN_FIELDS):
            shown |= own_fields(state)
        if state.tab == "catalogue":
            shown |= self.questions.catalogue()
        if tab in FORMS:
            form = FORMS[tab]
            texts = form.read(query)
            if moved or tab == "compare" or form.first[0] in texts:
                values = form.values(texts)
                shown |= {f"{tab}.{name}": value for name, value in values.items()}
                shown[f"{tab}.again"] = f"load{uuid4().hex}"
        return shown

    def ask(self, asked: FormCall) -> Iterator[Shown]:
        """Answer the question in the form; other orders and GPUs change their parts of an answer.

        Picked GPUs stay until the model changes.
        """
        if asked.last("alone") is not None:
            asked = replace(asked, fields={**asked.fields, **dict.fromkeys(SEVERAL)})
            yield {**FORMS["size"].values({}, SEVERAL)}
        before = PageState.from_query(asked.query)
        state = self._question(before, asked)
        if not state.model and asked.last("ask") is None:
            yield START if asked.query and asked.last("load") is not None else {}
        elif asked.forces_answer or state.about_no_place != before.about_no_place:
            yield from self._show(state, asked)
        else:
            yield self._changed(before, state, asked)

    def _question(self, before: PageState, asked: FormCall) -> PageState:
        # The question of the size tab without the GPUs picked in this call.
        address, example = asked.last("load"), asked.last("model")
        state = before
        if address is not None:
            state = PageState.from_query(address)
        elif not before.shows(asked.fields):
            state = replace(before.stating(asked.fields), as_card="")
        if example is not None:  # a draft model is another's
            others = {"draft_model": "", "acceptance_rate": ""}
            state = state.stating({"model": example[:_MAX_CHARS], **others})
        is_machine_new = state.machines != before.machines and not before.own_gpus
        if address is None and (state.model != before.model or is_machine_new):
            state = replace(state, gpus=None, filled="")
        saved = self._saved(asked.profile)
        if state.gpus is None and saved:
            state = state.picking(saved)
        state = replace(state, plans=asked.last("plans") or state.plans)
        rows, rank_by = asked.last("rows") or state.rows, asked.last("rank") or state.rank_by
        return replace(state, rows=rows, rank_by=rank_by)

    def _changed(self, before: PageState, state: PageState, asked: FormCall) -> Shown:
        # Only the parts of an answer that another order and other GPUs change.
        sizer, shown = remembering(self._of(asked.token)), Shown()
        if state.rank_by != before.rank_by:
            shown |= self._ranked(sizer, state, self._reports_of(asked.token))
        elif state.rows != before.rows:
            report = attempt(lambda: report_of(sizer, state, self._reports_of(asked.token)))
            shown |= {} if isinstance(report, GpusizerError) else self._ranking(report)
            shown["query"] = state.query
        if any(asked.about_gpus) or state.plans != before.plans:
            repicked = self._repicked(sizer, state, asked)
            shown.update(repicked)
            after = PageState.from_query(repicked["query"])
            if after.own_gpus != before.own_gpus:
                result = attempt(lambda: answer(sizer, after, self._reports_of(asked.token)))
                shown |= {} if isinstance(result, GpusizerError) else self._first(result, after)
        return shown

    @property
    def no_cards(self) -> str:
        """Markup of the comparison before a GPU is picked."""
        return self._no_cards(concluded=True)

    def compare_for(self, asked: FormCall) -> Iterator[Shown]:
        """Compare the picked GPUs with a model, or without one.

        If a model is read, the status "reading" and its steps come first.
        """
        before, address = PageState.from_query(asked.query), asked.last("load")
        state = before.stating(asked.fields)
        state = replace(state, plans=asked.last("plans") or state.plans)
        writes_field = address is not None or any(asked.about_gpus)
        if address is not None:
            state = PageState.from_query(address)
            saved = self._saved(asked.profile)
            state = state.picking(saved) if state.gpus is None and saved else state
        else:
            asked = replace(asked, events=(*typed_gpus(asked, before), *asked.events))
        for shown in self._compared(before, state, asked):
            if writes_field and "query" in shown:
                gpus = PageState.from_query(str(shown["query"])).gpus or ()
                shown = {**shown, "gpus": ", ".join(gpus)}
            yield shown

    def _compared(self, before: PageState, state: PageState, asked: FormCall) -> Iterator[Shown]:
        # The comparison after the visitor's picks; no values for an unchanged question.
        if state == before and not asked.events:
            yield {}
        elif not (state.model and (state.places or any(asked.about_gpus))):
            sizer = self._of(asked.token)
            yield {"status": "", **self._repicked(sizer, state, asked, concluded=True)}
        else:
            reading = Reading(partial(self._read_and_compare, state, asked))
            for status in told(reading, state.model, self.words):
                yield {"status": status}
            yield {"status": "", **reading.result}

    def _read_and_compare(self, state: PageState, asked: FormCall, on_step: OnStep) -> Shown:
        sizer = self._of(asked.token)
        reader = sizer.reading(watched(sizer.fetch, on_step))
        return {**self._repicked(reader, state, asked, concluded=True)}

    def _ranked(self, sizer: Sizer, state: PageState, reports: Reports) -> Shown:
        # Another policy ranks, and its first place is named in the headline.
        result = attempt(lambda: answer(sizer, state, reports))
        if isinstance(result, GpusizerError):
            panel, hidden = error_html(result, (), self.words), gr.update(visible=False)
            return {"ranking": panel, "ranked": hidden}
        shown = {**self._first(result, state), **self._ranking(result.report)}
        return {**shown, "query": state.query}

    def draw(self, query: str, token: gr.OAuthToken | None = None) -> Shown:
        """Draw the pictures of a query and return them, with the query as "drawn"."""
        state, sizer = PageState.from_query(query), remembering(self._of(token))
        reports = self._reports_of(token)
        result = attempt(lambda: pictures(sizer, state, reports))
        if isinstance(result, GpusizerError):  # then without GPUs: one of them may be unknown
            result = attempt(lambda: pictures(sizer, state.picking(()), reports))
        drawn = None if isinstance(result, GpusizerError) else result
        return {"drawn": query, **pictures_shown(drawn, self.words)}

    def share(self, query: str, events: str, token: gr.OAuthToken | None = None) -> str:
        """Return the requested files of the page's answer for the browser to save."""
        state = PageState.from_query(query)
        kinds = dict.fromkeys(event.value for event in events_of(events) if event.kind == "take")
        sizer, reports = self._of(token), self._reports_of(token)
        report = attempt(lambda: report_of(sizer, state, reports))
        if isinstance(report, GpusizerError):
            return ""
        files = [download(report, kind, self.words) for kind in kinds]
        return json.dumps([file for file in files if file is not None])

    def _show(self, state: PageState, asked: FormCall) -> Iterator[Shown]:
        # First the status "reading" and its steps, then the answer or the error.
        example = asked.last("model") is not None
        reports = self._reports_of(asked.token)
        reading = Reading(partial(read_and_answer, self._of(asked.token), state, reports))
        is_read = not state.shows(asked.fields)  # in other words than it was pasted
        form: Shown = {**state.form} if example or is_read else {}
        for status in told(reading, state.model, self.words):
            yield {**form, "status": status}
            form = {}
        sizer, seen, result = reading.result
        hidden = [name for name in state.stated if name not in seen.stated]
        emptied = FORMS["size"].values({}, hidden) if hidden else {}
        state = seen
        if isinstance(result, GpusizerError):
            panel = error_html(result, self._examples[:3], self.words)
            texts = dict.fromkeys(("status", "cards", "memory", "facts", "ranking"), "")
            parts = dict.fromkeys(("pictures", "ranked"), gr.update(visible=False))
            yield {**texts, **parts, **emptied, "answer": panel, "query": state.query}
            return
        if state.gpus is None:
            mine = result.own.facts.get("gpu") if isinstance(result.own, Conclusion) else None
            free = [gpu for gpu in default_gpus(result.report.ranking) if gpu != mine]
            state = state.filling(free[: max(0, MAX_PICKS - len(state.machines))])
        yield {
            "status": "",
            **emptied,
            **self._first(result, state),
            "pictures": gr.update(visible=True),
            **self._ranking(result.report),
            **self._repicked(sizer, state, asked, result.question),
        }

    def _first(self, result: PageAnswer, state: PageState) -> Shown:
        # The answer and the views below it that depend on its first place: the memory with that
        # place's loss, and the facts with what the author publishes. If GPUs are named, they are
        # the first view.
        profile, card = result.report.profile, result.report.model_card
        terms = terms_of(card.command, profile) if card and card.command else {}
        as_author = question_href(state.as_author(terms).query, self.words.language)
        said = model_card_html(card, self.words, as_author)
        is_on_own = isinstance(result.own, Conclusion) and not any(map(is_mixed, state.machines))
        first: View = "cards" if state.own_gpus or is_on_own else "ranking"
        answer = answer_html(result, self.words, first)
        memory = memory_html(result.report, result.tiers, self.words, result.cards)
        results = published_results_html(profile.published_results, self.words)
        facts = facts_html(profile, self.words) + said + results
        return {"answer": answer, "memory": memory, "facts": facts}

    def _ranking(self, report: Report) -> Shown:
        # The ranking's heading and its grid; for a rate of requests the plan alone, as a ranking
        # shows one replica.
        if report.serving_plan is not None:
            plan = serving_plan_html(report, self.words)
            return {"ranking": plan, "ranked": gr.update(visible=False)}
        columns = ranking_columns(report.ranking)
        grid = gr.update(**grid_update(columns, report.ranking, self.words))
        return {"ranking": ranking_html(report, self.words), "ranked": grid}

    def _repicked(
        self,
        sizer: Sizer,
        before: PageState,
        asked: FormCall,
        question: Question | None = None,
        *,
        concluded: bool = False,
    ) -> ComparisonUpdate:
        # The GPUs after the visitor's picks, side by side, and the question with them. A message
        # tells of a full comparison or an unknown GPU. The tab of the comparison has its conclusion
        # above them, and one quantization for all unless the visitor wants the best of each; next
        # to a ranking each has the plan of the ranking.
        after, message = before, ""
        for event in asked.about_gpus:
            value = event.value[:_MAX_CHARS]
            if event.kind == "drop":
                after = after.without_gpu(value)
                continue
            for gpu in split_machines([value]):
                picked = after.with_gpu(gpu, MAX_PICKS)
                if picked is None:
                    message = self.words("cards.full", count=MAX_PICKS)
                after = picked or after
        usual: Plans = "same" if concluded else "best"
        plans = next((plans for plans in PLANS if plans == after.plans), usual)
        result = attempt(lambda: compare(sizer, after, question, plans=plans))
        if isinstance(result, GpusizerError) and after != before:
            after, message = before, self.words.error(result)
            result = attempt(lambda: compare(sizer, before, question, plans=plans))
        seen = after
        if isinstance(result, GpusizerError) and after.machines:
            seen, message = after.stating({"gpu": ""}), self.words.error(result)
            result = attempt(lambda: compare(sizer, seen, question, plans=plans))
        if isinstance(result, GpusizerError):
            cards = self._no_cards(after.model, self.words.error(result), concluded=concluded)
        else:
            cards = self._shown(result, seen, message, plans, concluded=concluded)
        return {"cards": cards, "query": after.query}

    def _shown(
        self,
        comparison: Comparison | None,
        state: PageState,
        message: str,
        plans: Plans,
        *,
        concluded: bool,
    ) -> Markup:
        # A further message names GPUs that are counted whole.
        if comparison is None:
            return self._no_cards(state.model, message, concluded=concluded)
        *_, refusals = on_possible_gpus(state.request, state.places, self._sizer.catalogue)
        whole = [self.words("own.whole", why=self.words.error(error)) for error in refusals]
        messages = " ".join(filter(None, (message, *whole)))
        return side_by_side_html(
            comparison,
            state.places,
            messages,
            self.words,
            concluded=concluded,
            plans=plans,
            machines=len(state.machines),
        )

    def _no_cards(self, model: str = "", message: str = "", *, concluded: bool) -> Markup:
        # With examples for a model.
        examples = links_html(comparisons(model), self.words)
        return side_by_side_html(None, (), message, self.words, examples, concluded=concluded)
