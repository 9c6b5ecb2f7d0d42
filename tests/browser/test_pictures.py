"""Pictures below an answer: drawn for the window, whole, and fetched by those who see them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.test_page import LLAMA, Open, see, wait_for_answer, wait_for_picks

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


def test_pictures_and_levels_are_whole_in_any_window_and_follow_the_picks(visit: Open) -> None:
    """No cell of the levels is cut, every picture is drawn for the window, lines cross no name; of
    other GPUs they are drawn anew, and stay unfolded."""
    window = visit(390)
    page = window.go(f"/?model={LLAMA}&gpus=4090,2x3090")
    wait_for_answer(page, LLAMA)
    see(page, "memory")
    assert page.locator("#gs-pictures h3:visible").count() == 0  # the answer stays first
    page.click("#gs-memory > .gs-details > summary")
    box = page.locator("#gs-memory .gs-scroll:has(.gs-estimates)")
    page.click("#gs-pictures > button")
    picture = page.locator("#gs-memory-picture")
    for width, shown in ((390, "narrow"), (800, "wide"), (1280, "wide")):
        window.show(width, "light")
        assert_drawn(page, shown)
        expect(box).to_be_visible()
        if width == 1280:
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
            assert box.evaluate(CLIPPED) == []
        assert picture.locator("svg:visible line").count() > 5
        assert picture.locator("svg:visible text.gs-name").count() > 5
        assert picture.evaluate(CROSSED) == []
    keys = picture.locator(".gs-key li")
    expect(keys).to_have_count(2)
    see(page, "cards")
    page.fill(".gs-adder input", "3070")
    page.press(".gs-adder input", "Enter")
    wait_for_picks(page, ["4090", "2x3090", "3070"])
    expect(keys).to_have_count(3)
    page.click("[data-remove='4090']")
    wait_for_picks(page, ["2x3090", "3070"])
    expect(keys).to_have_count(2)
    see(page, "memory")
    expect(keys.first).to_be_visible()
    expect(keys.first).to_contain_text("3070")
    expect(page.locator("#gs-context-picture .gs-legend")).to_contain_text("3070")
    picture.locator("summary").click()
    assert "Total GiB" in page.inner_text("#gs-memory-picture table")
    page.locator("#gs-buy-plot svg .mark-symbol path").last.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_contain_text("GPU")
    expect(tooltip).to_contain_text("tok/s")


def assert_drawn(page: Any, shown: str) -> None:
    """Every picture is there, inside the window, in letters that one can read."""
    expect(page.locator("#gs-pictures h3:visible")).to_have_count(8)
    expect(page.locator("#gs-pictures .gs-plot svg:visible")).to_have_count(6)
    expect(page.locator(f".gs-chart-{shown} svg[role=img]:visible")).to_have_count(2)
    assert page.locator(".gs-chart svg[role=img]:visible").count() == 2
    assert "2 × GeForce RTX 3090" in page.inner_text("#gs-memory-picture")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    outside = page.evaluate(
        "() => [...document.querySelectorAll(':is(.gs-chart, .gs-plot) svg *')].filter(e => {"
        " const box = e.getBoundingClientRect();"
        " return box.width && (box.right > window.innerWidth + 1 || box.left < 0); })"
        ".map(e => e.outerHTML.slice(0, 99))"
    )
    assert outside == []
    small = page.evaluate(
        "() => [...document.querySelectorAll('.gs-chart svg')].filter(e => e.clientWidth)"
        ".map(e => 14 * e.clientWidth / e.viewBox.baseVal.width).filter(size => size < 11)"
    )
    assert small == []


def test_tables_and_plots_are_fetched_by_those_who_see_them(visit: Open) -> None:
    window = visit()
    urls: list[str] = []
    window.page.on("request", lambda request: urls.append(request.url))
    page = window.go("/")
    page.wait_for_function("() => window.gsLoaded")
    before = len(urls)
    page.goto(f"{window.address}?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    see(page, "ranking")
    page.locator("#gs-ranking-grid [role=gridcell]").first.wait_for()
    with_answer = {url.split("/assets/")[1] for url in urls[before:] if "/assets/" in url}
    first = {url.split("/assets/")[1] for url in urls[:before] if "/assets/" in url}
    assert not any(name.startswith("embed-") for name in with_answer), "Vega, for plots"
    assert any(name.startswith("dsv-") for name in with_answer - first), "of tables alone"
    see(page, "memory")
    page.click("#gs-pictures > button")
    page.locator("#gs-rent-plot svg").wait_for()
    assert any("/assets/embed-" in url for url in urls)
