"""What a stranger sees first: a real answer in short, examples, room, and nothing cut off."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.api.plain_http import ask
from tests.browser.test_page import LLAMA, Open, query, see, wait_for_answer
from tests.browser.test_tabs import column, sort
from tests.nightly import some

CATALOGUE = "#gs-catalogue-grid"
WIDTHS = (1280, 390)
CLIPPED = """box => [...box.querySelectorAll('th, td')]
  .filter(cell => cell.getClientRects().length)
  .filter(cell => {
    const {left, right} = cell.getBoundingClientRect(), outer = box.getBoundingClientRect();
    return left < outer.left - 1 || right > outer.right + 1 ||
      cell.scrollWidth > cell.clientWidth + 1;
  }).map(cell => cell.outerHTML.slice(0, 99))"""
"""Cells of a table that stand outside of its box, or whose text does."""
CROSSED = """picture => [...picture.querySelectorAll('svg')].filter(svg => svg.clientWidth)
  .flatMap(svg => {
    const texts = [...svg.querySelectorAll('text.gs-name')];
    const names = texts.map(text => text.getBoundingClientRect());
    return [...svg.querySelectorAll('line')]
      .map(line => [line, line.getBoundingClientRect()])
      .filter(([line, box]) => box.height > box.width && names.some(name =>
        box.left < name.right && box.right > name.left &&
        box.top < name.bottom - 3 && box.bottom > name.top + 3))
      .map(([line]) => line.outerHTML);
  })"""
"""Upright lines of a picture that cross a name in it; a glyph's box has a margin of 3 pixels."""


def test_the_first_page_shows_an_answer_that_opens_at_one_click(visit: Open) -> None:
    window = visit()
    page = window.go("/")
    sample = page.locator("#gs-sample")
    for width in WIDTHS:
        window.show(width, "light")
        expect(sample.locator("h2")).to_contain_text("runs on")
        expect(sample.locator("dd").first).to_contain_text("GB")
    model = sample.locator("[data-model]").get_attribute("data-model")
    sample.locator("[data-model]").click()
    wait_for_answer(page, str(model))
    assert query(page)["model"] == [model]


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


def test_all_levels_are_whole_and_lines_cross_no_name(visit: Open) -> None:
    window = visit()
    page = window.go(f"/?model={LLAMA}&gpus=rtx-4090-24gb,2x rtx-3060-12gb")
    wait_for_answer(page, LLAMA)
    see(page, "memory")
    page.click("#gs-memory > .gs-details > summary")
    box = page.locator("#gs-memory .gs-scroll:has(.gs-estimates)")
    page.click("#gs-pictures > button")
    picture = page.locator("#gs-memory-picture")
    picture.locator("svg[role=img]:visible").wait_for()
    for width in WIDTHS:
        window.show(width, "light")
        expect(box).to_be_visible()
        if width == 1280:
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
            assert box.evaluate(CLIPPED) == []
        assert picture.locator("svg:visible line").count() > 5
        assert picture.locator("svg:visible text.gs-name").count() > 5
        assert picture.evaluate(CROSSED) == []


def test_the_catalogue_starts_with_what_is_sold_today(visit: Open) -> None:
    """On a phone too, where it is sorted by its last column all the same."""
    window = visit(390)
    gpus = {gpu["name"]: gpu for gpu in ask(window.address, "gpus", {}).json()["gpus"]}
    sold = sorted(gpu["release_year"] for gpu in gpus.values() if gpu["status"] == "current")
    window.page.goto(f"{window.address}?tab=catalogue")
    page = window.page
    page.locator(f"{CATALOGUE} [role=gridcell]").first.wait_for()
    for width in (390, 1280):
        window.show(width, "light")
        shown = [gpus[name.split("\n")[0]] for name in column(page, CATALOGUE, 0)]
        years = [gpu["release_year"] for gpu in shown]
        assert len(shown) > 3 and {gpu["status"] for gpu in shown} == {"current"}
        assert years == sold[::-1][: len(years)]
    window.show(390, "light")
    sort(page, CATALOGUE, 8, "Sort ascending")
    rents = [float(text.replace("$", "")) for text in column(page, CATALOGUE, 8)]
    assert len(rents) > 3 and rents == sorted(rents)
