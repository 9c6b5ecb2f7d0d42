"""Each question is a step of the browser's history."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.test_no_input_lost import enter, wait_for_address
from tests.browser.test_page import LLAMA, Open, see, wait_for_answer, wait_for_picks
from tests.slow import SLOW_MODEL

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


def test_back_returns_to_the_tab_before(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    expect_question(page, LLAMA)
    page.get_by_role("tab", name=Words("en")("tab.train")).click()
    enter(page, "#gs-train-model", OTHER)
    wait_for_address(page, tab="train", model=OTHER)
    page.locator("#gs-train-gpu input").fill("T4")
    page.click("#gs-train-go")
    wait_for_address(page, gpu="T4")
    page.go_back()
    expect(page.locator("#gs-train-gpu input")).to_have_value("")
    expect(page.locator("#gs-training")).not_to_contain_text("T4")
    page.go_back()
    page.go_back()
    expect_question(page, LLAMA)
    expect(page.locator("#gs-tab-size-button")).to_have_attribute("aria-selected", "true")


def test_an_answer_that_comes_late_leaves_the_address_to_the_open_tab(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    expect_question(page, LLAMA)
    enter(page, "#gs-model", SLOW_MODEL)
    page.get_by_role("tab", name=Words("en")("tab.train")).click()
    wait_for_address(page, tab="train")
    expect(page.locator("#gs-answer .gs-eyebrow")).to_have_text(SLOW_MODEL)
    wait_for_address(page, tab="train")
    page.get_by_role("tab", name=Words("en")("tab.size")).click()
    wait_for_address(page, model=SLOW_MODEL)
