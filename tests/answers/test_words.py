"""No answer about an embedded model holds a pattern that no reader understands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpusizer.cli.summary import SUMMARIES
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.near_models import known_models
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.forbidden import FORBIDDEN, found
from tests.nightly import some
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
MODELS = some(sorted(model.repo_id for model in known_models()), of=20)
OTHER_QUESTIONS = (
    ("size", {"concurrency": 50}),
    ("size", {"gpu": "3060 + 64 GB RAM, 4090, m3 max 128gb"}),
    ("compare", {"gpus": ["4090", "2x3090", "a100"]}),
    ("train", {"method": "qlora"}),
)
EXAMPLES = {
    "a value of Python": "it leaves None free",
    "no number": "0.09–∞ GPUs",
    "a unit twice": "12.4 GiB GB free",
    "a chain of fragments": "fits · 34 tok/s · room · sold · no NVLink",
    "minutes that are no minute": "at least 0.0139 minutes from a disk",
    "a field that was not filled in": "costs ${usd} an hour",
    "a code": "training.several_boards: fabric",
    "an exponent": "about 1.2e+06 tokens",
    "a price with two signs": "US$ $242",
    "two marks": "It fits..",
    "less than nothing": "-0.0 GiB stay free",
    "numbers in place of a sentence": "GPUs needed: 1; BF16 / FP16 takes 4.",
    "two words for one": "上下文 8,192 token",
    "English": "Cabe with room",
}
_SAID = frozenset({"message", "sentence", "why", "label"})


def sentences(document: Any) -> Iterator[str]:
    """Every sentence of an answer."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name in _SAID and isinstance(value, str):
                yield value
            else:
                yield from sentences(value)
    elif isinstance(document, list):
        for value in document:
            yield from sentences(value)


def problems(command: str, fields: dict[str, Any]) -> list[tuple[str, str]]:
    answered = USE_CASES[command].ask(SIZER, fields)
    bad = list(found(SUMMARIES[command](answered)))
    for language in LANGUAGES:
        document = answered.to_json(lambda note, to=language: say_note(note, to))
        for sentence in dict.fromkeys(sentences(document)):
            bad += found(sentence, language)
    return bad


def on_the_page(model: str, language: Language) -> str:
    """The words of an answer on the page, a line for each element."""
    shown = answer_html(answer(SIZER, PageState(model)), Words(language))
    return re.sub(r"<[^>]*>", "\n", shown)


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_about_a_model_is_in_words(model: str) -> None:
    assert problems("size", {"model": model, "card": False}) == []
    for language in LANGUAGES:
        assert list(found(on_the_page(model, language), language)) == []


@pytest.mark.parametrize("question", some(OTHER_QUESTIONS, of=4))
def test_answers_to_other_questions_are_in_words(question: tuple[str, dict[str, Any]]) -> None:
    command, fields = question
    for model in some(("Qwen/Qwen3-30B-A3B", "openai/gpt-oss-20b"), of=1):
        assert problems(command, {**fields, "model": model}) == []


@pytest.mark.parametrize("model", MODELS)
def test_bits_of_a_plain_format_are_its_own(model: str) -> None:
    """Sixteen bits for each weight are sixteen, whatever is stored beside them."""
    for row in (
        USE_CASES["size"].ask(SIZER, {"model": model, "card": False}).to_json(say_note)["estimates"]
    ):
        if row["quant"] in ("bf16", "fp32"):
            assert row["bits_per_weight"] <= {"bf16": 16.0, "fp32": 32.0}[row["quant"]], model


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_pattern_finds_what_it_is_for(name: str) -> None:
    of_languages = {"English": "pt", "two words for one": "zh"}
    assert EXAMPLES.keys() == {*FORBIDDEN, *of_languages}
    assert name in {problem for problem, _ in found(EXAMPLES[name], of_languages.get(name, "pt"))}
