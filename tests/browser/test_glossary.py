"""Terms of an answer: their meanings open by keyboard and by touch, inside of the window."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.test_page import LLAMA, Open, wait_for_answer


def assert_inside(page: Any, meaning: Any) -> None:
    box, window = meaning.bounding_box(), page.viewport_size
    assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"], box
    assert box["y"] >= 0 and box["y"] + box["height"] <= window["height"], box


def test_a_meaning_opens_by_keyboard_and_by_touch(visit: Open) -> None:
    window = visit(390)
    page = window.go(f"/?model={LLAMA}")
    wait_for_answer(page, LLAMA)
    terms = page.locator("#gs-answer .gs-figures .gs-term")
    assert terms.count() >= 3
    for term in terms.all():
        meaning = page.locator(f"#{term.get_attribute('popovertarget')}")
        assert term.get_attribute("aria-describedby") == meaning.get_attribute("id")
        term.focus()
        page.keyboard.press("Enter")
        expect(meaning).to_be_visible()
        assert_inside(page, meaning)
        page.keyboard.press("Escape")
        expect(meaning).to_be_hidden()
    term = terms.last
    meaning = page.locator(f"#{term.get_attribute('popovertarget')}")
    term.click()
    expect(meaning).to_be_visible()
    for theme in ("light", "dark"):
        window.show(390, theme)
        assert serious(page) == [], theme
    page.mouse.click(5, 5)
    expect(meaning).to_be_hidden()
