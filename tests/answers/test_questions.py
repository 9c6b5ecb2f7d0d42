"""The question asked is the question answered, in the same sentence through every door."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.request import CompareRequest, SizeRequest
from gpusizer.answers.use_cases import USE_CASES
from gpusizer.cli.arguments import build_parser, request_fields
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.answer_cache import AnswerCache
from gpusizer.ui.answering import PageAnswer
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.conclusion import unbroken
from gpusizer.ui.presenters.markdown import markdown, plain
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.side_by_side import side_by_side_html
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.short_answers import shortened
from tests.answers.questions import QUESTIONS, Typed
from tests.cli.test_cli import run
from tests.each import each
from tests.pages import Page
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
FIRST_LINES = 3


def fields_of(typed: Typed) -> dict[str, Any]:
    """The fields that the words state."""
    return request_fields(build_parser(typed.words).parse_args(list(typed.words)))


def size_page(fields: Mapping[str, Any], words: Words) -> Page:
    """The answer about a model; about GPUs that are named the comparison."""
    if fields.get("gpu") and not fields.get("rig"):
        stated = {name: value for name, value in fields.items() if name != "gpu"}
        request = CompareRequest.from_fields({**stated, "gpus": fields["gpu"]})
        compared = SIZER.compared(SIZER.question(request), request.compared)
        return Page(side_by_side_html(compared, request.compared, "", words, concluded=True))
    request = SizeRequest.from_fields(fields)
    question = SIZER.question(request)
    return Page(answer_html(PageAnswer(question, SIZER.report(question), ()), words))


PAGES: Mapping[str, Callable[[Any, Words], str]] = {
    "compare": lambda answer, words: side_by_side_html(answer, (), "", words, concluded=True),
    "models-for": models_for_html,
    "train": training_html,
}


@each("name", QUESTIONS)
def test_the_first_lines_answer_the_question(name: str) -> None:
    typed = QUESTIONS[name]
    shown = run(*typed.words, "--offline")
    assert (shown.returncode, shown.stderr) == (0, "")
    first = "\n".join(shown.stdout.splitlines()[:FIRST_LINES])
    assert [text for text in typed.holds if not re.search(text, first, re.M)] == [], first
    assert [text for text in typed.lacks if re.search(text, first)] == [], first


@each("name", QUESTIONS)
def test_every_door_says_the_same_sentence(name: str) -> None:
    typed = QUESTIONS[name]
    command, fields = typed.words[0], fields_of(typed)
    answered = USE_CASES[command].ask(SIZER, fields)
    conclusion: Conclusion = answered.conclusion  # type: ignore[attr-defined]
    sentence = conclusion.sentence(say_note)
    document = AnswerCache(SIZER).answer(command, fields).json()
    assert next(iter(document)) == "answer"
    assert (document["answer"]["kind"], document["answer"]["sentence"]) == (typed.kind, sentence)
    assert shortened(command, document)["answer"]["sentence"] == sentence
    shell = run(*typed.words, "--offline").stdout.splitlines()
    assert shell[0] == sentence
    for language in LANGUAGES:
        words = Words(language)
        page = Page(PAGES[command](answered, words)) if command in PAGES else None
        if command == "size" and typed.kind != "fit":
            page = size_page({k: v for k, v in fields.items() if k != "gpu"} | fields, words)
        said = [unbroken(words.note(note)) for note in conclusion.said]
        if page is not None and not (command == "size" and fields.get("gpu")):
            assert [text for text in said if text not in page.text] == []
        if command == "size":
            assert plain(conclusion.sentence(words.note)) in markdown(answered, words, "")
