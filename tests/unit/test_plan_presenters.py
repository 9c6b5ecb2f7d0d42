"""The page's part of serving plans and draft models: its table, its fields, its state."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import answer, compare, report_of
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.serving_plan import serving_plan_html
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from tests.sizers import embedded_sizer

QUESTION = PageState(
    "Qwen/Qwen3-8B",
    {
        "engine": "vllm",
        "requests_per_second": "2.5",
        "prompt_tokens": "1000",
        "answer_tokens": "300",
        "ttft_ms": "500",
        "draft_model": "Qwen/Qwen3-0.6B",
        "acceptance_rate": "0.75",
    },
    ("h100-sxm5-80gb",),
)


def test_the_form_and_the_address_say_the_same() -> None:
    assert PageState.from_query(QUESTION.query) == QUESTION
    assert PageState().stating(QUESTION.form).texts == QUESTION.texts
    assert QUESTION.shows(QUESTION.form)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_plan_is_a_table(language: Language) -> None:
    words, report = Words(language), report_of(embedded_sizer(), QUESTION)
    assert report.serving_plan is not None
    html = str(serving_plan_html(report.serving_plan, report.profile, words))
    first = report.serving_plan.rows[0]
    assert first.gpu.name in html and html.count("<tr>") == 2 + 12
    assert words("plan.room", count=words.whole(first.most_users)) in html
    counts = {"replicas": words.whole(first.replicas), "count": words.whole(first.boards)}
    assert words("plan.replicas", **counts) in html
    assert words("plan.title", rate=words.number(2.5, "g")) in html
    assert words.note(report.serving_plan.notes[0])[:40] in html


def test_a_page_reads_and_plans_once(monkeypatch: pytest.MonkeyPatch) -> None:
    studied: list[Any] = []
    sizer = embedded_sizer()
    question = type(sizer).question

    def counted(self: Sizer, request: SizeRequest) -> Question:
        studied.append(request.requests_per_second)
        return question(self, request)

    monkeypatch.setattr(type(sizer), "question", counted)
    page = answer(sizer, QUESTION)
    compare(sizer, QUESTION.picking(("4090", "a100")), page.question)
    assert studied == [2.5]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_card_says_what_a_draft_brings(language: Language) -> None:
    comparison = compare(embedded_sizer(), QUESTION)
    words = Words(language)
    html = str(side_by_side_html(comparison, ("h100-sxm5-80gb",), "", words))
    assert words("spec.guessed") in html
    assert comparison is not None and comparison.items[0].ranked is not None
    draft = comparison.items[0].ranked.fit.estimate.draft
    assert draft is not None and draft.per_gpu.total.likely > 0
    memory = words.amount(draft.per_gpu.total.likely)
    assert f"{words('spec.draft_memory')}</th><td><span>{memory}</span>" in html
    assert "--speculative-config" in html
    assert "7 GB/s" in html
