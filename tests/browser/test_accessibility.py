"""axe-core finds nothing serious, in any language, width or theme."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.axe import serious
from tests.browser.conftest import Visit

QUERY = "?model=meta-llama/Llama-3.1-8B-Instruct&gpus=4090,2x3070"


@pytest.mark.parametrize("path", ["/", "/zh", "/pt"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious(visit: Callable[..., Visit], path: str, width: int, theme: str) -> None:
    page = visit(width, theme).go(f"{path}{QUERY}&__theme={theme}")
    page.wait_for_selector(".gs-answer")
    page.wait_for_selector("#gs-cards article")
    assert serious(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_before_the_page_is_up(visit: Callable[..., Visit], theme: str) -> None:
    window = visit(390, theme)
    page = window.page
    page.route("**/assets/index-*.js", lambda route: route.abort())
    page.goto(f"{window.address}zh")
    page.locator("#gs-early input").wait_for()
    assert serious(page) == []
    window.errors.clear()  # the script that was held back
