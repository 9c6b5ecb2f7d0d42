"""Answers that the page keeps: public ones, and no visitor's own."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import gradio as gr
import pytest

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.handlers import Handlers
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.sizer import Sizer
from tests.builders import tiny
from tests.hostile import VISITORS_TOKEN
from tests.sizers import embedded_sizer

MODEL = "someone/kept"
SIGNED_IN = gr.OAuthToken(token=VISITORS_TOKEN, scope="", expires_at=0)
ASK = (PageEvent("ask", ""),)


class Counting(Sizer):
    """Counts the reports that are worked out."""

    reports = 0

    def report(self, question: Question) -> Report:
        Counting.reports += 1
        return super().report(question)

    def reading(self, fetch: Fetch) -> Sizer:
        return Counting(fetch, self.catalogue, self.quantized_repos, self.library)


def fetch(ref: ModelRef) -> RepoSnapshot:
    return replace(tiny(), repo_id=MODEL)


@pytest.fixture
def handlers() -> Handlers:
    Counting.reports = 0
    sizer = embedded_sizer()
    counting = Counting(fetch, sizer.catalogue, library=sizer.library)
    return Handlers(counting, lambda token: fetch, "en", ())


def ask(handlers: Handlers, token: gr.OAuthToken | None) -> dict[str, Any]:
    *_, shown = handlers.ask(FormCall({"model": MODEL}, events=ASK, token=token))
    assert "gs-answer" in str(shown["answer"]) and "gs-error" not in str(shown["answer"])
    return shown


def reports_left() -> int:
    """Return the number of reports about the model that are still referenced."""
    gc.collect()
    left = [each for each in gc.get_objects() if isinstance(each, Report)]
    return sum(each.profile.repo_id == MODEL for each in left)


def test_a_report_that_anybody_may_read_is_worked_out_once(handlers: Handlers) -> None:
    ask(handlers, None)
    once = Counting.reports
    ask(handlers, None)
    handlers.draw(f"model={MODEL}")
    assert handlers.share(f"model={MODEL}", '[["take", "csv"]]')
    assert once > 0 and Counting.reports == once
    assert reports_left() == 1


@pytest.mark.parametrize("first", [None, SIGNED_IN])
def test_one_that_is_read_with_a_token_is_kept_by_nobody(
    handlers: Handlers, first: gr.OAuthToken | None
) -> None:
    ask(handlers, first)
    public = reports_left()
    once = Counting.reports
    shown = ask(handlers, SIGNED_IN)
    assert Counting.reports == 2 * once, "nor is that of others shown"
    handlers.draw(str(shown["query"]), SIGNED_IN)
    ranked = FormCall(
        {"model": MODEL}, str(shown["query"]), (PageEvent("rank", "cheapest"),), SIGNED_IN
    )
    (changed,) = handlers.ask(ranked)
    assert "answer" in changed
    assert reports_left() == public == (first is None)
