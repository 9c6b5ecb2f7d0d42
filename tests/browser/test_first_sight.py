"""What a stranger sees first: a real answer in short, examples, and room."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.test_page import LLAMA, Open, wait_for_answer
from tests.nightly import some

WIDTHS = (1280, 390)


def room(page: Any) -> tuple[float, float]:
    """The least room in pixels around what an empty tab shows: at the sides, above and below."""
    box = page.locator(".gs-empty:visible").bounding_box()
    parts = [part.bounding_box() for part in page.locator(".gs-empty:visible > *").all()]
    assert box and parts
    left, top = (min(part[axis] for part in parts) - box[axis] for axis in ("x", "y"))
    right = box["x"] + box["width"] - max(part["x"] + part["width"] for part in parts)
    bottom = box["y"] + box["height"] - max(part["y"] + part["height"] for part in parts)
    return min(left, right), min(top, bottom)


@pytest.mark.parametrize("tab", some(["compare", "train", "reverse"], of=3, start=2))
def test_an_empty_tab_has_room_and_its_last_example_answers(visit: Open, tab: str) -> None:
    """On a phone and in a wide window; the click is that of a phone."""
    window = visit()
    window.page.goto(f"{window.address}?tab={tab}")
    page = window.page
    examples = page.locator(".gs-empty a.gs-try:visible")
    for width in WIDTHS:
        window.show(width, "light")
        expect(examples).to_have_count(3)
        assert min(room(page)) >= 12
        boxes = [example.bounding_box() for example in examples.all()]
        assert all(box["height"] >= 24 and box["x"] + box["width"] <= width for box in boxes)
    examples.last.click()
    answered = {"compare": ".gs-side", "train": "#gs-training tbody tr", "reverse": "#gs-reverse"}
    page.locator(f"{answered[tab]}:visible").first.wait_for()


def test_the_answer_is_told_focused_and_near(visit: Open) -> None:
    """The first page has an answer in short. A link leads past the form; folds tell that they are
    open; the finished answer has the focus and is told; the ranking is at most ten stops away."""
    window = visit()
    page = window.go("/")
    sample = page.locator("#gs-sample")
    for width in (390, 1280):
        window.show(width, "light")
        expect(sample.locator("h2")).to_contain_text("runs on")
        expect(sample.locator("dd").first).to_contain_text("GB")
    assert sample.locator("[data-model]").get_attribute("data-model")
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
