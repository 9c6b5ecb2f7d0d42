"""Numbers in the notation of each language, wherever the page says one."""

from __future__ import annotations

import doctest
import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from gpusizer.errors import LimitsExceeded
from gpusizer.notes import Note
from gpusizer.text import LANGUAGES, NOTATIONS, Language, notation, say_error, say_note
from gpusizer.ui.answering import answer, pictures
from gpusizer.ui.presenters.charts.page import pictures_html
from gpusizer.ui.presenters.figures import Figures
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.questions import Questions
from gpusizer.ui.state import PageState
from gpusizer.units import GIB
from tests import engine_logs
from tests.sizers import embedded_sizer
from tests.unit.test_presenters import Page, everything

LLAMA, R1 = "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1"
_MARKED = re.compile(r"(?<![\w./@-])\d+(?:[.,]\d+)+(?![\w/-])")
_NAMES = re.compile(
    r"\b(?:\d{1,2}\.\d{1,2}\.\d{1,2}|(?:PCIe|RDNA|GCN|UnifiedBus|MTLink) \d\.\d|\d\.\d bpw)\b(?!\.)"
)
"""Not numbers: releases, standards and quantizations with a point in their name."""


def _asked(name: str, *asked: str) -> Callable[[Language], str]:
    def shown(language: Language) -> str:
        sizer = embedded_sizer()
        questions = Questions(sizer, lambda token: sizer.fetch, Words(language))
        made = getattr(questions, name)(*asked)
        return made if isinstance(made, str) else made[0]

    return shown


def _summary(language: Language) -> str:
    report = answer(embedded_sizer(), PageState(LLAMA), shown=60).report
    return f"<p>{markdown(report, Words(language), '')}</p>"


SHOWN: dict[str, Callable[[Language], str]] = {
    "answer": lambda language: everything(embedded_sizer(), LLAMA, Words(language)),
    "large": lambda language: everything(embedded_sizer(), R1, Words(language)),
    "pictures": lambda language: pictures_html(
        pictures(embedded_sizer(), PageState(R1, concurrency=8)), Words(language)
    ),
    "training": _asked("train", LLAMA, "qlora", "8192", "2", "4090, 2x3090"),
    "models": _asked("models_for", "RTX 3090 + 64GB RAM"),
    "catalogue": _asked("catalogue"),
    "accuracy": _asked("accuracy"),
    "log": _asked("check_log", engine_logs.VLLM_V1, "Qwen/Qwen3-8B", "H100"),
    "summary": _summary,
}


def said(markup: str) -> Iterator[str]:
    """Every text of a page in order, those of tooltips and labels too.

    Left out are commands, and ticks of pictures: there is room for more or fewer of them.
    """
    plain = re.sub(r"<pre\b.*?</pre>|<text\b[^>]*gs-tick.*?</text>", "", markup, flags=re.DOTALL)
    page = Page(plain)
    yield page.text
    for _, attributes in page.elements:
        yield from (attributes.get(name) or "" for name in ("title", "aria-label"))


def numbers(texts: Iterator[str]) -> list[str]:
    """Those written with a point or a comma."""
    found = [_MARKED.findall(_NAMES.sub("", text)) for text in texts]
    return [number for one in found for number in one]


def test_doctests() -> None:
    assert doctest.testmod(notation).failed == 0


def test_marks_of_each_language() -> None:
    written = {language: Figures(language).usd(1599) for language in LANGUAGES}
    assert written == {"en": "$1,599", "zh": "$1,599", "pt": "US$\u00a01.599"}
    written = {language: Figures(language).amount(9.98 * GIB) for language in LANGUAGES}
    assert written == {"en": "9.98 GiB", "zh": "9.98 GiB", "pt": "9,98 GiB"}


@pytest.mark.parametrize("shown", SHOWN)
def test_a_page_says_the_same_numbers_in_every_language(shown: str) -> None:
    made = {language: Counter(numbers(said(SHOWN[shown](language)))) for language in LANGUAGES}
    assert len(made["en"]) > 10, "nothing to compare"
    assert made["zh"] == made["en"]
    expected = Counter(map(NOTATIONS["pt"].write, made["en"].elements()))
    assert (made["pt"] - expected, expected - made["pt"]) == (Counter(), Counter())


def test_ticks_of_pictures() -> None:
    drawn = {language: SHOWN["pictures"](language) for language in LANGUAGES}
    ticks = {
        name: re.findall(r"gs-tick[^>]*>([^<]*\d)</text>", made) for name, made in drawn.items()
    }
    assert "&#36;100,000" in ticks["en"] and "US&#36;\u00a0100.000" in ticks["pt"]
    assert not any(re.search(r"\d,\d{3}\b", tick) for tick in ticks["pt"])
    assert not any(re.search(r"\d\.\d{3}\b", tick) for tick in ticks["en"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences(language: Language) -> None:
    mark = "," if language == "pt" else "."
    note = say_note(Note("why_fits", quant="Q4_K_M", gb=2.5), language)
    assert f"2{mark}5 GB" in note and "Q4_K_M" in note
    context = say_note(Note("largest_context", context=131072, users=4), language)
    assert ("131.072" if language == "pt" else "131,072") in context
    bought = say_note(Note("why_price_street", usd=1599.0, date="2026-10"), language)
    assert ("1.599" if language == "pt" else "1,599") in bought and "2026-10" in bought
    named = Note("projector_not_counted", projector_bytes=2_500_000_000, file="v1.5.gguf")
    assert f"2{mark}33 GiB" in say_note(named, language) and "v1.5.gguf" in say_note(
        named, language
    )


def test_names_keep_their_points() -> None:
    error = LimitsExceeded(repo_id="org/Qwen2.5-7B", limit="files", allowed=5000)
    for language in LANGUAGES:
        assert "org/Qwen2.5-7B" in say_error(error, language)
