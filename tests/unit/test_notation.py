"""Every number on the page has the notation of its language."""

from __future__ import annotations

import pytest

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.text import LANGUAGES, NOTATIONS, Language, say_note
from gpusizer.ui.presenters.pieces.number_format import NumberFormat

LLAMA, R1 = "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-R1"


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
