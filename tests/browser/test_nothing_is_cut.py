"""The names of rows stay in sight, and commands scroll, where four GPUs stand side by side."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import Visit


def test_the_names_of_rows_stay_in_sight_and_commands_scroll(visit: Callable[..., Visit]) -> None:
    """At 390 two GPUs stand beside the names, which stay where the others are pushed to."""
    gpus = "4090,3060%20%2B%2064%20GB%20RAM,Mac%20Studio%20128%20GB,MI300X"
    window = visit()
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
