"""Each question is a step of the browser's history."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import wait_for_values
from tests.browser.test_no_input_lost import enter, wait_for_address
from tests.browser.test_page import LLAMA, Open, see, wait_for_answer, wait_for_picks

OTHER = "Qwen/Qwen3-8B"


def expect_question(page: Any, model: str) -> None:
    wait_for_answer(page, model)
    wait_for_address(page, model=model)
    expect(page.locator("#gs-model input")).to_have_value(model)


def test_back_returns_to_the_question_before(visit: Open) -> None:
    """Its answer, its fields and its cards; further back the start, and forward again. A field that
    is left is a question, so each step is waited for before the next."""
    page = visit().go("/")
    enter(page, "#gs-model", LLAMA)
    expect_question(page, LLAMA)
    see(page, "cards")
    page.click("#gs-cards [data-remove] >> nth=0")
    expect(page.locator("#gs-cards [data-remove]")).to_have_count(3)
    picks = page.locator("#gs-cards [data-remove]").evaluate_all(
        "buttons => buttons.map(button => button.dataset.remove)"
    )
    wait_for_picks(page, picks)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.click("#gs-advanced > button")
    context = page.get_by_label("Context", exact=True)
    context.wait_for()
    wait_for_values(page)
    context.fill("4096")
    context.press("Enter")
    wait_for_address(page, context="4096")
    enter(page, "#gs-model", OTHER)
    expect_question(page, OTHER)
    for tokens in ("4096", "8192"):
        page.go_back()
        expect_question(page, LLAMA)
        wait_for_picks(page, picks)
        expect(context).to_have_value(tokens)
    page.go_back()
    expect_question(page, LLAMA)
    expect(page.locator("#gs-cards [data-remove]")).to_have_count(4)
    page.go_back()
    page.wait_for_function("() => location.search === ''")
    expect(page.locator("#gs-model input")).to_have_value("")
    expect(page.locator("#gs-ranking")).to_have_count(0)
    page.go_forward()
    expect_question(page, LLAMA)
