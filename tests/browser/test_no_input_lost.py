"""Visitors' actions during an answer are kept, and an old answer looks old."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.test_page import LLAMA, PATHS, Open, wait_for_answer
from tests.nightly import some
from tests.slow import SLOW_MODEL

OTHER = "Qwen/Qwen3-8B"
BUSY = "#gs-answer-block[aria-busy=true]"


def enter(page: Any, field: str, text: str) -> None:
    page.fill(f"{field} :is(input, textarea)", text)
    page.press(f"{field} :is(input, textarea)", "Enter")


def wait_for_address(page: Any, **fields: str) -> None:
    for name, value in fields.items():
        page.wait_for_function(
            "([name, value]) => new URLSearchParams(location.search).get(name) === value",
            arg=[name, value],
        )


@pytest.mark.parametrize("language", some(LANGUAGES, of=3))
def test_the_second_of_two_questions_stands(visit: Open, language: Language) -> None:
    """While it is read, the earlier answer is greyed, with its name on it."""
    page = visit().go(f"{PATHS[language]}?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    enter(page, "#gs-model", SLOW_MODEL)
    expect(page.locator(BUSY)).to_have_attribute(
        "data-earlier", Words(language)("earlier", name=LLAMA)
    )
    assert page.inner_text("#gs-answer .gs-eyebrow") == LLAMA
    page.wait_for_timeout(250)
    enter(page, "#gs-model", OTHER)
    wait_for_answer(page, OTHER)
    wait_for_address(page, model=OTHER)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert page.input_value("#gs-model input") == OTHER
