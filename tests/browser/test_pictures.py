"""Plots below an answer: as wide as the window, whole, and fetched by those who see them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.test_page import LLAMA, Open, see, wait_for_answer, wait_for_picks

# cells of a table that are outside of its box, or whose text is
CLIPPED = """box => [...box.querySelectorAll('th, td')]
  .filter(cell => cell.getClientRects().length)
  .filter(cell => {
    const {left, right} = cell.getBoundingClientRect(), outer = box.getBoundingClientRect();
    return left < outer.left - 1 || right > outer.right + 1 ||
      cell.scrollWidth > cell.clientWidth + 1;
  }).map(cell => cell.outerHTML.slice(0, 99))"""

TOUCHING = """plot => {
  const texts = [...plot.querySelectorAll('.mark-text.role-mark text')]
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  return texts.flatMap(([name, box], i) => texts.slice(i + 1)
    .filter(([, other]) => box.left < other.right - 2 && box.right > other.left + 2 &&
      box.top < other.bottom - 4 && box.bottom > other.top + 4)
    .map(([other]) => `${name} | ${other}`));
}"""


def test_plots_and_levels_are_whole_in_any_window_and_follow_the_picks(visit: Open) -> None:
    """No cell of the levels is cut, plots are as wide as the window, names do not touch.

    For other GPUs they are drawn again, and stay unfolded. The visitor's card is marked on the
    bars.
    """
    window = visit(390)
    page = window.go(f"/?model={LLAMA}&gpus=4090,2x3090")
    wait_for_answer(page, LLAMA)
    see(page, "memory")
    assert page.locator("#gs-pictures h3:visible").count() == 0  # the answer stays first
    expect(page.locator(".gs-card").first).to_contain_text("GeForce RTX 4090 24GB: 24.0 GiB")
    page.click("#gs-memory > .gs-details:has(.gs-estimates) > summary")
    box = page.locator("#gs-memory .gs-scroll:has(.gs-estimates)")
    page.click("#gs-pictures > button")
    for width in (390, 800, 1280):
        window.show(width, "light")
        assert_drawn(page)
        expect(box).to_be_visible()
        if width == 1280:
            assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
            assert box.evaluate(CLIPPED) == []
    along = page.locator("#gs-along-plot")
    expect(along).to_contain_text("GeForce RTX 4090 24GB: up to")
    expect(along.locator(".mark-line.role-mark")).to_have_count(2)
    see(page, "cards")
    page.fill(".gs-adder input", "3070")
    page.press(".gs-adder input", "Enter")
    wait_for_picks(page, ["4090", "2x3090", "3070"])
    see(page, "memory")
    expect(along).to_contain_text("GeForce RTX 3070")
    expect(along.locator(".mark-line.role-mark")).to_have_count(3)
    see(page, "cards")
    page.click("[data-remove='4090']")
    wait_for_picks(page, ["2x3090", "3070"])
    see(page, "memory")
    expect(along.locator(".mark-line.role-mark")).to_have_count(2)
    page.locator("#gs-loss-below summary").click()
    assert "Total GiB" in page.inner_text("#gs-loss-below table")
    page.locator("#gs-loss-plot svg .mark-symbol path").last.hover(force=True)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("GiB")


def assert_drawn(page: Any) -> None:
    """Every plot is there with a description, inside the window, its names apart."""
    expect(page.locator("#gs-pictures h3:visible")).to_have_count(2)
    expect(page.locator(".gs-plot svg.marks:visible")).to_have_count(2)
    expect(page.locator(".gs-plot [role=graphics-document][aria-label]")).to_have_count(2)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.gs-plot svg.marks')].every(svg =>"
        " Math.abs(svg.clientWidth - svg.closest('.gs-plot').clientWidth) < 30)"
    )
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    for plot in page.locator(".gs-plot").all():
        assert plot.evaluate(TOUCHING) == []


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
    assert not any(name.startswith("AltairPlot-") for name in with_answer), "Vega, for plots"
    assert any(name.startswith("dsv-") for name in with_answer - first), "of tables alone"
    see(page, "memory")
    page.click("#gs-pictures > button")
    page.locator("#gs-loss-plot svg.marks").wait_for()
    assert any("/assets/AltairPlot-" in url for url in urls)
