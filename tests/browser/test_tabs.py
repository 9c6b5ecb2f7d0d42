"""Every tab: opened by its address, answered, without a fault in any language, width or theme."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.catalogue import COLUMNS
from gpusizer.ui.presenters.pieces.words import Words
from tests.api.plain_http import ask
from tests.browser.axe import serious
from tests.browser.conftest import Held, Visit
from tests.browser.test_page import picked_gpus
from tests.engine_logs import VLLM_V1
from tests.nightly import paired, some

Open = Callable[..., Visit]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PATHS = {"en": "/", "zh": "/zh", "pt": "/pt"}
TABS = {
    "compare": ("&gpus=4090,h100&model=" + LLAMA, "#gs-compare-cards .gs-side"),
    "train": ("&gpu=4090&method=qlora&model=" + LLAMA, "#gs-training .gs-ranked tbody tr"),
    "reverse": ("&gpu=3090%20%2B%203060%20%2B%2064gb%20ram", "#gs-reverse-grid [role=gridcell]"),
    "catalogue": ("", "#gs-catalogue-grid [role=gridcell]"),
    "know": ("", "#gs-accuracy [lang=en] table"),
    "log": ("", "#gs-log-go"),
}


_WHOLE_TABLES = (("log", 1280), ("log", 390))
"""Tabs and widths at which tables fit without scrolling sideways."""


_OPENED = {"en": (1280, "light"), "zh": (390, "dark"), "pt": (390, "light")}
"""The width and theme a page is opened in, by language."""


_CUT = """selector => [...document.querySelectorAll(selector)]
  .filter(e => e.offsetParent && e.clientWidth > 2 && getComputedStyle(e).overflowX !== 'visible')
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.trim())"""
_NARROW = """selector => [...document.querySelectorAll(selector)]
  .filter(e => e.offsetParent && e.clientWidth > 2 && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent.trim())"""
_OVERLAPS = """selector => {
  const boxes = [...document.querySelectorAll(selector)].filter(e => e.offsetParent)
    .map(e => [e.textContent.trim(), e.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 2) found.push([one, other]);
  }));
  return found;
}"""


@pytest.mark.parametrize(("tab", "language"), some(paired(TABS, LANGUAGES), of=2))
def test_a_tab_by_its_address(visit: Open, tab: str, language: Language) -> None:
    """The tab is opened in one width and checked in both."""
    query, selector = TABS[tab]
    width, theme = _OPENED[language]
    window = visit(width, theme)
    window.page.goto(
        f"{window.address}{PATHS[language].lstrip('/')}?tab={tab}{query}&__theme={theme}"
    )
    page = window.page
    page.locator(selector).first.wait_for()
    if tab == "log":
        words = Words(language)
        page.get_by_label(words("log.label")).fill(VLLM_V1)
        page.get_by_label(words("log.gpu")).fill("H100 80GB")
        page.click(selector)
        page.wait_for_selector("#gs-log tbody tr")
        assert re.search(r"15[.,]25", page.inner_text("#gs-log"))
    for summary in page.query_selector_all(".gs-details > summary"):
        if summary.is_visible():
            summary.click()
    shown_text = page.inner_text("main")
    assert not re.findall(r"\b(?:page|note|error|reason|verdict)\.[a-z_]+", shown_text)
    for width in (1280, 390):
        window.show(width, theme)
        if (tab, width) in _WHOLE_TABLES:
            scrolled = "boxes => [...boxes].map(box => box.scrollWidth - box.clientWidth)"
            assert max(page.eval_on_selector_all(".gs-scroll:visible", scrolled)) <= 0
        window.shot(f"tab-{tab}-{language}-{width}-{theme}")
    for width, theme in ((1280, "light"), (390, "dark")):
        window.show(width, theme)
        assert serious(page) == []
        if tab == "know":
            assert page.evaluate(_OVERLAPS, "#gs-accuracy p, #gs-accuracy table") == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            links = page.locator("#gs-accuracy a").evaluate_all("all => all.map(a => a.href)")
            assert links and all(link.startswith("https://") for link in links)
    assert f"tab={tab}" in page.url


def column(page: Any, grid: str, index: int) -> list[str]:
    """Return the texts of a column's cells, from the top row on; all are read at one moment."""
    cells: list[tuple[int, str]] = page.eval_on_selector_all(
        f"{grid} [role=row][data-index] > [data-col='{index}']",
        "cells => cells.map(cell => [Number(cell.parentElement.dataset.index), cell.innerText])",
    )
    return [text for _, text in sorted(cells)]


def sort(page: Any, grid: str, index: int, order: str) -> None:
    page.click(f"{grid} [data-heading='{index}'] [aria-haspopup=menu]")
    page.get_by_role("menuitem", name=order).click()


@pytest.mark.parametrize("language", some(LANGUAGES, of=3, start=2))
def test_the_catalogue_is_whole_sorted_searched_and_picked_from(
    visit: Open, language: Language
) -> None:
    """What is sold today comes first; numbers are sorted as numbers, in any language and width."""
    window = visit(390)
    gpus = {gpu["name"]: gpu for gpu in ask(window.address, "gpus", {}).json()["gpus"]}
    sold = sorted(gpu["release_year"] for gpu in gpus.values() if gpu["status"] == "current")
    path = PATHS[language].lstrip("/")
    window.page.goto(f"{window.address}{path}?tab=catalogue&gpus=4090&model={LLAMA}")
    page, grid = window.page, "#gs-catalogue-grid"
    page.locator(f"{grid} [role=gridcell]").first.wait_for()
    assert page.evaluate(_NARROW, "#gs-tabs .tab-container:not(.visually-hidden) button") == []
    expect(page.locator("#gs-tabs button[role=tab].selected")).to_be_visible()
    for width in (390, 1280):
        window.show(width, "light")
        shown = [gpus[name.split("\n")[0]] for name in column(page, grid, 0)]
        years = [gpu["release_year"] for gpu in shown]
        assert len(shown) > 3 and {gpu["status"] for gpu in shown} == {"current"}
        assert years == sold[::-1][: len(years)]
    assert page.evaluate(_CUT, f"{grid} th *") == []
    assert _is_whole(page), "a column is off the grid"
    for index in (7, 8):
        sort(page, grid, index, "Sort ascending")
        expect(page.locator(f"{grid} [data-heading='{index}'] .sort-indicator")).to_be_visible()
        prices = [cell.splitlines()[0] for cell in column(page, grid, index)]
        assert "—" not in prices, "the cheapest come first, not those of unknown price"
        figures = [re.sub(r"[^\d.,]", "", price) for price in prices]
        thousands, point = (".", ",") if language == "pt" else (",", ".")
        amounts = [float(text.replace(thousands, "").replace(point, ".")) for text in figures]
        assert len(amounts) > 3 and amounts == sorted(amounts)
        sort(page, grid, index, "Clear sort")  # else the next order counts among equals alone
    any_column_sorts(window, grid)
    field = page.get_by_label(Words(language)("catalogue.filter"))
    field.fill("rtx 4090")
    expect(page.locator(f"{grid} [role=grid]")).to_have_attribute("aria-rowcount", "6")
    assert all("4090" in name for name in column(page, grid, 0))
    assert column(page, grid, 0)[0].startswith("GeForce RTX 4090 24GB")
    field.fill("rtx 4091")
    expect(page.locator(f"{grid} [role=gridcell]")).to_have_count(0)
    expect(page.locator("#gs-catalogue .gs-empty")).to_contain_text("GeForce RTX 4090 24GB")
    field.fill("")
    rows = str(len(gpus) + 1)
    expect(page.locator(f"{grid} [role=grid]")).to_have_attribute("aria-rowcount", rows)
    field.fill("H100 SXM5 80GB")
    expect(page.locator(f"{grid} [role=grid]")).to_have_attribute("aria-rowcount", "2")
    page.locator(f"{grid} [role=gridcell] [data-pick='h100-sxm-80gb']").click()
    page.wait_for_url("**tab=compare**")
    expect(page.locator(".gs-side th[data-gpu]")).to_have_count(2)


def _is_whole(page: Any) -> bool:
    """Whether the grid's last head ends inside the grid."""
    whole: bool = page.evaluate(
        """() => {
          const grid = document.querySelector('#gs-catalogue-grid').getBoundingClientRect();
          const heads = [...document.querySelectorAll('#gs-catalogue-grid th[role=columnheader]')]
            .filter(e => e.offsetParent).map(e => e.getBoundingClientRect().right);
          return heads.length > 0 && Math.max(...heads) <= grid.right + 1;
        }"""
    )
    return whole


def any_column_sorts(window: Visit, grid: str) -> None:
    """On a phone the first column stays in sight."""
    page = window.page
    assert page.locator(f"{grid} [data-heading]").count() == len(COLUMNS)
    for index in some(range(len(COLUMNS)), of=3):
        sort(page, grid, index, "Sort descending")
        indicator = page.locator(f"{grid} [data-heading='{index}'] .sort-indicator")
        expect(indicator).to_be_visible()
        page.click(f"{grid} [data-heading='{index}'] [aria-haspopup=menu]")
        page.get_by_role("menuitem", name="Clear sort").click()
        expect(indicator).to_have_count(0)
    window.show(390, "light")
    cell = page.locator(f"{grid} [data-col='0']").first
    left = cell.bounding_box()["x"]
    viewport = page.locator(f"{grid} [role=grid] .virtual-table-viewport")
    viewport.evaluate("box => { box.scrollLeft = 10_000 }")
    assert cell.bounding_box()["x"] == pytest.approx(left, abs=1)
    last = page.locator(f"{grid} [data-col='8']").first.bounding_box()
    assert last["x"] + last["width"] <= 390


def test_old_addresses_of_tabs_open_their_parts(visit: Open) -> None:
    """There are five tabs; the catalogue and the log are folds of two of them, closed there, and
    stay in the address until another tab opens."""
    window = visit()
    page = window.go("/?tab=compare")
    expect(page.locator("#gs-tabs [role=tab]:visible")).to_have_count(5)
    expect(page.locator("#gs-catalogue-fold > button")).to_have_attribute("aria-expanded", "false")
    for part, tab in (("catalogue", "compare"), ("log", "know")):
        window.go(f"/?tab={part}")
        selected = page.locator("#gs-tabs [role=tab][aria-selected=true]")
        expect(selected).to_have_id(f"gs-tab-{tab}-button")
        fold = page.locator(f"#gs-{part}-fold > button")
        expect(fold).to_have_attribute("aria-expanded", "true")
        page.wait_for_function("() => window.gsLoaded")
        assert f"tab={part}" in page.url
        page.locator("#gs-tab-train-button").click()
        page.wait_for_function("() => location.search.includes('tab=train')")
        page.go_back()
        expect(selected).to_have_id(f"gs-tab-{tab}-button")
        assert f"tab={part}" in page.url


def test_a_tab_opened_before_the_address_is_answered_is_written_too(visit: Open) -> None:
    window = visit()
    page = window.page
    asking = Held(page, "**/gradio_api/queue/join*")
    page.goto(window.address)
    tab = page.get_by_role("tab", name="Fine-tune")
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    assert "tab=" not in page.url
    asking.let_go()
    page.wait_for_function("() => location.search.includes('tab=train')")


def test_a_visitor_sees_a_link_to_a_page_in_their_language(visit: Open, browser: Any) -> None:
    window = visit()
    context = browser.new_context(locale="pt-BR")
    page = context.new_page()
    page.goto(window.address)
    hint = page.locator("[data-hint=pt]")
    expect(hint).to_be_visible()
    hint.click()
    page.wait_for_url("**/pt*")
    expect(page.locator("[data-hint]:visible")).to_have_count(0)
    context.close()


def test_a_stranger_finds_shares_and_reads_why(visit: Open) -> None:
    """A visitor finds the cheapest card, shares a link, changes the language, reads the method."""
    page = visit().go("/?embed=false&__theme=dark")
    page.fill("#gs-model input", "Qwen/Qwen3-8B")
    page.press("#gs-model input", "Enter")
    page.wait_for_selector("#gs-ranking")
    page.click("[data-rank=cheapest]")
    page.wait_for_selector("[data-rank=cheapest][aria-pressed=true]")
    first = page.locator("#gs-ranking-grid [role=row][data-index='0']")
    expect(first).to_contain_text("$")
    name = first.locator("strong").first.inner_text()
    expect(page.locator("h2.gs-answer")).to_contain_text(name)
    pick = first.locator("[data-pick]").get_attribute("data-pick")
    first.locator("[data-pick]").click()
    expect(page.locator(f"[data-remove='{pick}']")).to_have_count(1)
    expect(page.locator("[data-remove]")).to_have_count(4)
    page.wait_for_function("() => location.search.includes('rank_by=cheapest')")
    shared, picks = page.url, picked_gpus(page)
    page.goto(shared)
    page.wait_for_selector("[data-rank=cheapest][aria-pressed=true]", state="attached")
    page.click(".gs-header nav a[hreflang='pt-BR']")
    page.wait_for_url("**/pt?**")
    page.wait_for_selector("#gs-cards")
    assert picked_gpus(page) == picks and "__theme=dark" in page.url
    page.get_by_role("tab", name="Como sabemos").click()
    page.locator("#gs-accuracy").wait_for()
