"""axe-core finds nothing serious, in any language, width or theme."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tests.browser.axe import serious
from tests.browser.conftest import Visit

QUERY = "?model=meta-llama/Llama-3.1-8B-Instruct&gpus=4090,2x3070"


@pytest.mark.parametrize(
    ("path", "width", "theme"), [("/", 1280, "light"), ("/zh", 390, "dark"), ("/pt", 390, "light")]
)
def test_pages_have_no_serious_accessibility_violation(
    visit: Callable[..., Visit], path: str, width: int, theme: str
) -> None:
    """The page is opened in one width and theme, and checked in all of them."""
    window = visit(width, theme)
    page = window.go(f"{path}{QUERY}&__theme={theme}")
    page.wait_for_selector(".gs-answer")
    page.wait_for_selector("#gs-cards article")
    for width_and_theme in product((1280, 390), ("light", "dark")):
        window.show(*width_and_theme)
        assert serious(page) == [], width_and_theme
