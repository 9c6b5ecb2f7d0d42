"""axe-core finds nothing serious, in any language, width or theme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Visit

QUERY = "?model=meta-llama/Llama-3.1-8B-Instruct&gpus=4090,2x3070"
SERIOUS = ("serious", "critical")


def violations(page: Any) -> list[str]:
    """What axe-core objects to, in our parts of the page and Gradio's."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['html'][:160]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("path", ["/", "/zh", "/pt"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious(visit: Callable[..., Visit], path: str, width: int, theme: str) -> None:
    page = visit(width, theme).go(f"{path}{QUERY}&__theme={theme}")
    page.wait_for_selector(".gs-answer")
    page.wait_for_selector("#gs-cards article")
    assert violations(page) == []
