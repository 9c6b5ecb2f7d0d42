"""Several models in the browser: an example, lines that are typed, an answer, and its files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.conftest import Visit
from tests.browser.test_page import query
from tests.hostile import IMAGE, SCRIPT

Open = Callable[..., Visit]
SMALL, MEDIUM = "Qwen/Qwen3-8B", "Qwen/Qwen3-14B"
MODELS = "#gs-desk-models textarea"
_SHOWN_ON_A_PHONE = 3  # columns: the name, where it is, and what it holds


def shown_columns(page: Any) -> int:
    """Return how many headings of the table are seen."""
    headings = page.locator("#gs-desk .gs-servers thead th")
    return sum(heading.is_visible() for heading in headings.all())


def test_lines_are_typed_and_answered_in_one_go(visit: Open) -> None:
    window = visit()
    page = window.go("/?tab=desk")
    page.click("#gs-desk-answer .gs-try >> nth=0")
    page.locator("#gs-desk").wait_for()
    assert page.input_value(MODELS).count("\n") == 2  # an example fills the form
    assert query(page)["gpu"] == ["2x 3090 + 64 GB RAM"]
    before = page.url

    lines = [SMALL, f"{MEDIUM} resident=no", f"{MEDIUM} resident=no"]
    page.fill(MODELS, lines[0])
    page.press(MODELS, "End")
    for line in lines[1:]:
        page.keyboard.press("Enter")  # begins the next line, and asks nothing
        page.keyboard.type(line)
    assert page.input_value(MODELS).split("\n") == lines
    assert page.url == before
    page.fill("#gs-desk-gpu input", "3090")
    page.press("#gs-desk-gpu input", "Enter")
    page.wait_for_url("**gpu=3090**")
    expect(page.locator("#gs-desk .gs-servers tbody tr")).to_have_count(3)
    waits = Words("en")("desk.may_wait", model="Qwen3-14B", time="TIME").partition("TIME")[0]
    expect(page.locator("#gs-desk .gs-waits")).to_contain_text(waits)
    assert query(page)["models"] == [page.input_value(MODELS)]

    page.click("#gs-desk summary:has-text('llama-swap')")
    figure = page.locator("#gs-desk figure:visible")
    expect(figure.locator("code")).to_contain_text("healthCheckTimeout")
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; }")
    figure.locator("[data-copy]").click()
    assert page.evaluate("window.copied") == figure.locator("code").text_content()

    window.show(1280, "light")
    assert shown_columns(page) > _SHOWN_ON_A_PHONE
    window.show(390, "light")
    assert shown_columns(page) == _SHOWN_ON_A_PHONE

    page.fill(MODELS, f"{IMAGE}\n{SCRIPT}")
    page.click("#gs-desk-go")
    page.locator("#gs-desk-answer .gs-error").wait_for()
    assert page.evaluate("window.pwned") is None
