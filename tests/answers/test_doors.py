"""Every kind of question gets the same sentence: on the page, in the shell, over HTTP and MCP, and
from Gradio's client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from gradio_client import Client

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.core.units import significant
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.conclusion import unbroken
from gpusizer.ui.presenters.markdown import markdown, plain
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.training import training_html
from gpusizer.usecases.comparison import Comparison
from gpusizer.usecases.report import Report
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.questions import QUESTIONS
from tests.answers.test_questions import fields_of, shown_by_the_shell
from tests.api.plain_http import ask
from tests.api.transports import ENDPOINTS, arguments_of, call, mcp_texts
from tests.nightly import some
from tests.pages import Page
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
ASKED = some(list(QUESTIONS), of=4)
NOT_ON_THE_PAGE = frozenset({"quant", "rig"})
"""Fields that no field of the page states."""

Write = Callable[[Words], str]
PAGES: Mapping[str, Callable[[Any], Write]] = {
    "compare": lambda it: lambda words: compared(it, words),
    "models-for": lambda it: lambda words: models_for_html(it, words),
    "train": lambda it: lambda words: training_html(it, words),
}


def compared(comparison: Comparison, words: Words) -> str:
    picks = [item.gpu.slug for item in comparison.items]
    return side_by_side_html(comparison, picks, "", words, concluded=True)


def on_the_page(command: str, fields: Mapping[str, Any], answered: Any) -> Write | None:
    """What writes the page's answer in a language; None where the page cannot be asked that."""
    if command in PAGES:
        return PAGES[command](answered)
    if not NOT_ON_THE_PAGE.isdisjoint(fields):
        return None
    shown = answer(SIZER, PageState.from_query(urlencode(fields)))
    return lambda words: answer_html(shown, words)


@pytest.fixture(scope="module")
def tools(app_url: str) -> Mapping[str, Any]:
    """What the tools answer to each question."""
    asked = [(QUESTIONS[name].words[0], fields_of(QUESTIONS[name])) for name in ASKED]
    calls = [(ENDPOINTS[c].name, arguments_of(c, fields)) for c, fields in asked]
    return dict(zip(ASKED, map(json.loads, mcp_texts(app_url, calls)), strict=True))


@pytest.mark.parametrize("name", ASKED)
def test_every_door_says_the_same_sentence(
    name: str, app_url: str, client: Client, tools: Mapping[str, Any]
) -> None:
    typed = QUESTIONS[name]
    command, fields = typed.words[0], fields_of(typed)
    answered: Any = USE_CASES[command].ask(SIZER, fields)
    conclusion: Conclusion = answered.conclusion
    expected = (typed.kind, conclusion.sentence(say_note))
    texts = {n: ",".join(v) if isinstance(v, list) else v for n, v in fields.items()}
    over_http = ask(app_url, command, texts).json()
    by_client = call(client, f"/{ENDPOINTS[command].name}", **arguments_of(command, fields))
    for document in (over_http, by_client, tools[name]):
        assert next(iter(document)) == "answer"
        assert (document["answer"]["kind"], document["answer"]["sentence"]) == expected
    assert shown_by_the_shell(typed)[0] == expected[1]
    for note in (*conclusion.said, *conclusion.weighed):
        prices = [value for field, value in note.fields.items() if field.endswith("usd")]
        assert prices == [*map(significant, prices)], "as exact as what is about so much is known"
    write = on_the_page(command, fields, answered)
    for words in map(Words, LANGUAGES):
        if write is not None:
            text = Page(write(words)).text
            said = [unbroken(words.note(note)) for note in conclusion.said]
            assert [sentence for sentence in said if sentence not in text] == []
        if isinstance(answered, Report):
            assert plain(conclusion.sentence(words.note)) in markdown(answered, words, "")
