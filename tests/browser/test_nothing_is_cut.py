"""Nothing overlaps and nothing is cut: heads of tables, names of tabs, tiles, commands, lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.nightly import some

Open = Callable[..., Visit]
WIDTHS = (1280, 390)
PATHS = ("/", "/zh", "/pt")

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


@pytest.mark.parametrize("path", some(PATHS, of=3, start=2))
def test_how_we_know_neither_overlaps_nor_is_cut(visit: Open, path: str) -> None:
    window = visit(WIDTHS[0])
    page = window.go(f"{path}?tab=know")
    page.locator("summary:visible").first.click()
    page.locator(".gs-errors").first.wait_for()
    for width in WIDTHS:
        window.show(width, "dark" if width == WIDTHS[1] else "light")
        assert page.evaluate(_OVERLAPS, "#gs-accuracy > p, #gs-accuracy > .gs-scroll") == []
        assert page.evaluate(_NARROW, "#gs-accuracy .gs-scroll, .gs-errors th") == []


@pytest.mark.parametrize("path", some(PATHS, of=3, start=2))
def test_the_catalogue_shows_every_head_whole(visit: Open, path: str) -> None:
    window = visit(WIDTHS[0])
    page = window.go(f"{path}?tab=catalogue")
    page.locator("#gs-catalogue-grid [role=gridcell]").first.wait_for()
    assert page.evaluate(_CUT, "#gs-catalogue-grid th *") == []
    assert _is_whole(page), "a column is off the grid"
    window.show(WIDTHS[1], "light")
    expect(page.locator("#gs-tabs button[role=tab].selected")).to_be_visible()
    assert page.evaluate(_NARROW, "#gs-tabs .tab-container:not(.visually-hidden) button") == []


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


def test_the_names_of_rows_stay_in_sight_and_commands_scroll(visit: Open) -> None:
    """At 390 two GPUs stand beside the names, which stay where the others are pushed to."""
    gpus = "4090,3060%20%2B%2064%20GB%20RAM,Mac%20Studio%20128%20GB,MI300X"
    window = visit(WIDTHS[0])
    page = window.go(f"?tab=compare&model=Qwen/Qwen3-8B&gpus={gpus}")
    page.locator("#gs-compare-cards .gs-side").first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for width, whole in ((1280, 4), (390, 2)):
        window.show(width, "light")
        table = page.evaluate(
            """() => {
              const box = document.querySelector('#gs-compare-cards .gs-scroll');
              const edge = box.getBoundingClientRect();
              const right = e => e.getBoundingClientRect().right;
              const heads = [...box.querySelectorAll('th[data-gpu]')];
              const whole = heads.filter(e => right(e) <= edge.right + 1).length;
              box.scrollLeft = 1e4;
              const name = box.querySelector('th[scope=row]').getBoundingClientRect().left;
              const last = right(heads.at(-1)) <= edge.right + 1;
              box.scrollLeft = 0;
              return [whole, Math.round(name - edge.left) <= 1, last];
            }"""
        )
        assert table == [whole, True, True]
        ways = page.evaluate(
            """() => [...document.querySelectorAll('#gs-compare-cards .gs-launch pre')].map(e => {
              e.scrollLeft = 1e4;
              const end = e.scrollLeft + e.clientWidth >= e.scrollWidth - 1;
              const inside = e.getBoundingClientRect().right <= innerWidth;
              return [getComputedStyle(e).overflowX, end, inside];
            })"""
        )
        assert len(ways) == 4
        assert all(way == ["scroll", True, True] for way in ways)
