"""Every number on the page has the notation of its language."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.text import LANGUAGES, NOTATIONS, Language, say_note
from gpusizer.ui.page.answering import answer, pictures
from gpusizer.ui.page.asked import FormCall
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.charts.pictures import plots
from gpusizer.ui.presenters.charts.plot import Plot
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.pieces.html import Html, el, join
from gpusizer.ui.presenters.pieces.number_format import NumberFormat

LLAMA, R1 = "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1"
TRAINING = {
    "model": LLAMA,
    "method": "qlora",
    "sequence_length": "8192",
    "micro_batch": "2",
    "gpu": "4090, 2x3090",
}
_MARKED = re.compile(r"(?<![\w./@-])\d+(?:[.,]\d+)+(?![\w/-])")
_NAMES = re.compile(
    r"\b(?:\d{1,2}\.\d{1,2}\.\d{1,2}|(?:PCIe|RDNA|GCN|UnifiedBus|MTLink) \d\.\d|\d\.\d bpw)\b(?!\.)"
)
"""Not numbers: releases, standards and quantizations with a point in their name."""


def _tab(name: str, *answers: str | FormCall) -> Callable[[Language], str]:
    """The HTML of each tab, by the name of its listener and what it is asked."""

    def shown(language: Language) -> str:
        values = getattr(page_handlers(language).questions, name)(*answers)
        if isinstance(values, str):
            return values
        if isinstance(values, Iterator):
            *_, values = values  # the answer follows what is told meanwhile
        return "".join(map(_written, values.values()))

    return shown


def _written(value: object) -> str:
    """Return markup as it is, the shown cells of a table, and "" for other values."""
    if isinstance(value, dict) and "value" in value:
        rows = value["value"]["metadata"]["display_value"]
        return join(el("p", Html(cell)) for row in rows for cell in row)
    return value if isinstance(value, str) and value.startswith("<") else ""


def _pictures(language: Language) -> str:
    data, words = pictures(embedded_sizer(), PageState(R1, {"concurrency": "8"})), Words(language)
    return "".join(plot.above + plot.below for plot in plots(data, words).values())


def _summary(language: Language) -> str:
    report = answer(embedded_sizer(), PageState(LLAMA)).report
    return f"<p>{markdown(report, Words(language), '')}</p>"


SHOWN: dict[str, Callable[[Language], str]] = {
    "answer": lambda language: page_markup(embedded_sizer(), LLAMA, Words(language)),
    "large": lambda language: page_markup(embedded_sizer(), R1, Words(language)),
    "pictures": _pictures,
    "training": _tab("train", FormCall(TRAINING)),
    "models": _tab("models_for", FormCall({"gpu": "RTX 3090 + 64GB RAM"})),
    "catalogue": _tab("catalogue"),
    "log": _tab("check_log", engine_logs.VLLM_V1, "Qwen/Qwen3-8B", "H100"),
    "summary": _summary,
}


def texts(markup: str) -> Iterator[str]:
    """Every text of a page in order, those of tooltips and labels too.

    Left out are commands, and ticks of pictures: there is room for more or fewer of them.
    """
    text_markup = re.sub(
        r"<pre\b.*?</pre>|<text\b[^>]*gs-tick.*?</text>", "", markup, flags=re.DOTALL
    )
    page = Page(text_markup)
    yield page.text
    for _, attributes in page.elements:
        yield from (attributes.get(name) or "" for name in ("title", "aria-label"))


def numbers(markup: str) -> Counter[str]:
    """The numbers of a page that are written with a point or a comma."""
    return Counter(
        number for text in texts(markup) for number in _MARKED.findall(_NAMES.sub("", text))
    )


def test_marks_of_each_language() -> None:
    prices = {language: NumberFormat(language).usd(1599) for language in LANGUAGES}
    assert prices == {"en": "$1,599", "zh": "$1,599", "pt": "US$\u00a01.599"}
    amounts = {language: NumberFormat(language).amount(9.98 * GIB) for language in LANGUAGES}
    assert amounts == {"en": "9.98 GiB", "zh": "9.98 GiB", "pt": "9,98 GiB"}


@pytest.mark.parametrize(
    "formatted, portuguese",
    [
        ("0.5", "0,5"),
        ("1000.25", "1000,25"),
        ("1,000", "1.000"),
        ("-12,345,678.90", "-12.345.678,90"),
        ("1.2e+09 TFLOPS", "1,2e+09 TFLOPS"),
        ("8,030,261,248 × 4.5 ÷ 8", "8.030.261.248 × 4,5 ÷ 8"),
        ("1.5% (121/122), >999%", "1,5% (121/122), >999%"),
        ("nan", "nan"),
        (f"{10**40:,}.07", f"{10**40:,}".replace(",", ".") + ",07"),
    ],
)
def test_only_the_marks_change(formatted: str, portuguese: str) -> None:
    """Digits and units stay, however many digits a hostile configuration brings."""
    written = {language: NOTATIONS[language].write(formatted) for language in LANGUAGES}
    assert written == {"en": formatted, "zh": formatted, "pt": portuguese}


@pytest.mark.parametrize("value", [2.675, 0.125, 1.005, 1e22 / 3, -0.0])
def test_digits_are_those_of_json_and_the_shell(value: float) -> None:
    for specification in (",.2f", ".2f", "g", ","):
        assert NumberFormat("en").number(value, specification) == format(value, specification)


@pytest.mark.parametrize("shown", some(list(SHOWN), of=2))
def test_a_page_says_the_same_numbers_in_every_language(shown: str) -> None:
    pages = {language: numbers(SHOWN[shown](language)) for language in LANGUAGES}
    assert pages["en"].total() > 10, "nothing to compare"
    assert pages["zh"] == pages["en"]
    expected = Counter(map(NOTATIONS["pt"].write, pages["en"].elements()))
    assert (pages["pt"] - expected, expected - pages["pt"]) == (Counter(), Counter())


def _tick_texts(drawn: Mapping[str, Plot]) -> list[str]:
    """The expressions that write the ticks of every axis, up to their values."""
    encodings: list[Any] = [plot.spec["encoding"] for plot in drawn.values()]
    return [
        axis["axis"]["labelExpr"].split("[indexof")[0] for e in encodings for axis in e.values()
    ]


def test_ticks_of_pictures() -> None:
    data = pictures(embedded_sizer(), PageState(R1))
    ticks = {
        language: re.findall(r"[\d.,]+", json.dumps(_tick_texts(plots(data, Words(language)))))
        for language in LANGUAGES
    }
    assert len(ticks["en"]) > 6
    assert not any(re.search(r"\d,\d{3}\b", tick) for tick in ticks["pt"])
    assert not any(re.search(r"\d\.\d{3}\b", tick) for tick in ticks["en"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences(language: Language) -> None:
    mark = "," if language == "pt" else "."
    note = say_note(Note("why_fits", quant="Q4_K_M", gb=2.5), language)
    assert f"2{mark}5 GB" in note and "Q4_K_M" in note
    context = say_note(Note("largest_context", context=131072, users=4), language)
    assert ("131.072" if language == "pt" else "131,072") in context
    bought = say_note(Note("why_price_used", usd=1599.0, date="2026-10"), language)
    assert ("1.599" if language == "pt" else "1,599") in bought and "2026-10" in bought
    named_note = Note("projector_not_counted", projector_bytes=2_500_000_000, file="v1.5.gguf")
    assert f"2{mark}33 GiB" in say_note(named_note, language) and "v1.5.gguf" in say_note(
        named_note, language
    )
