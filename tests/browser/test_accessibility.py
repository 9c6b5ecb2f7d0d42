"""axe-core finds nothing serious, in any language, width or theme."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.browser.test_page import LLAMA, Open, wait_for_answer
from tests.nightly import some

QUERY = "?model=meta-llama/Llama-3.1-8B-Instruct&gpus=4090,2x3070"


OPENED = [("/", 1280, "light"), ("/zh", 390, "dark"), ("/pt", 390, "light")]


@pytest.mark.parametrize(("path", "width", "theme"), some(OPENED, of=3, start=1))
def test_pages_have_no_serious_accessibility_violation(
    visit: Callable[..., Visit], path: str, width: int, theme: str
) -> None:
    """The page is opened in one width and theme, and checked in all of them."""
    window = visit(width, theme)
    page = window.go(f"{path}{QUERY}&__theme={theme}")
    page.wait_for_selector(".gs-answer")
    page.wait_for_selector("#gs-cards .gs-side")
    for width_and_theme in product((1280, 390), ("light", "dark")):
        window.show(*width_and_theme)
        assert serious(page) == [], width_and_theme


def test_the_answer_is_told_focused_and_near(visit: Open) -> None:
    """A link leads past the form; folds tell that they are open; the finished answer has the focus
    and is told; the ranking is at most ten stops away."""
    page = visit().go("/")
    page.wait_for_function("() => window.gsLoaded")
    page.keyboard.press("Tab")
    expect(page.locator(".gs-skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#gs-answer-block h2").first).to_be_focused()
    for fold in ("#gs-advanced", "#gs-size-machine"):
        button = page.locator(f"{fold} > button")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")
    page.fill("#gs-model input", LLAMA)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, LLAMA)
    expect(page.locator("h2.gs-answer")).to_be_focused()
    expect(page.locator(".gs-told")).to_have_text(page.inner_text("h2.gs-answer"))
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#gs-ranking') !== null"):
            break
    assert page.evaluate("document.activeElement.closest('#gs-ranking') !== null")
    expect(page.locator("#gs-error")).to_have_count(0)
