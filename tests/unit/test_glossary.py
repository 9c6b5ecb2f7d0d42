"""The glossary: where terms are marked, and that each meaning is there once."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from markupsafe import Markup

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.pieces.glossary import TERMS, Glossary, glossary_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.serving_plan import serving_plan_html
from tests.hostile import ATTACKS
from tests.pages import ENGLISH, inert
from tests.sizers import embedded_sizer

QUESTIONS = {
    "gpu": PageState("Qwen/Qwen3-8B"),
    "ram": PageState("Qwen/Qwen3-30B-A3B", {"gpu": "3060 + 64 GB RAM"}),
    "load": PageState("Qwen/Qwen3-32B", {"requests_per_second": "2"}),
}
MARKED = {
    "gpu": {"quantization", "tok_s", "gib", "headroom", "loss", "context"},
    "ram": {"quantization", "tok_s", "gib", "offload", "loss", "context"},
    "load": {"quantization", "first_token", "gib"},
}


def marked(markup: str) -> Counter[str]:
    """How often each term is a button, which opens its meaning and is described by it."""
    page = inert(markup)
    terms = [found for _, found in page.elements if found.get("class") == "gs-term"]
    assert all(found["popovertarget"] == found["aria-describedby"] for found in terms)
    return Counter(str(found["popovertarget"]).removeprefix("gs-term-") for found in terms)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", QUESTIONS)
def test_an_answer_marks_each_term_where_it_first_occurs(kind: str, language: Language) -> None:
    words = Words(language)
    result = answer(embedded_sizer(), QUESTIONS[kind])
    found = marked(answer_html(result, words))
    assert set(found.values()) == {1}
    assert MARKED[kind] <= found.keys() <= set(TERMS)
    if kind == "load":
        assert "first_token" in marked(serving_plan_html(result.report, words))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_term_has_one_meaning_and_is_found_by_each_spelling(language: Language) -> None:
    words = Words(language)
    page = inert(glossary_html(words))
    ids = [found["id"] for _, found in page.elements if "popover" in found]
    assert ids == [f"gs-term-{name}" for name in TERMS]
    for name in TERMS:
        for spelling in words(f"term.{name}.spelt").split("|"):
            said = spelling.strip().replace("#", "8")
            assert list(marked(Glossary(words)(f"1 {said}, "))) == [name], spelling


def test_a_term_within_a_word_or_a_tag_is_none() -> None:
    explained = Glossary(ENGLISH)
    assert explained("parameters, Ramses, contextual") == "parameters, Ramses, contextual"
    tagged = Markup('<span class="context" title="8-bit">Qwen3</span>')
    assert explained(tagged) == tagged
    assert marked(explained("Context, context and 4-bit")) == {"context": 1, "quantization": 1}
    assert explained("context") == "context"
    assert explained("Qwen1.5-MoE-A2.7B long-context_8-bit") == (
        "Qwen1.5-MoE-A2.7B long-context_8-bit"
    )
    assert (explained(None), explained("")) == ("", "")


@pytest.mark.parametrize("attack", ATTACKS)
def test_marking_escapes(attack: str) -> None:
    shown = Glossary(ENGLISH)(f"{attack} context {attack}")
    page = inert(shown)
    assert {tag for tag, _ in page.elements} == {"button"}
    assert len(re.findall("<", shown)) == 2
