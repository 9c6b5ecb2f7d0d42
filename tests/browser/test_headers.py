"""A browser that obeys the headers of our answers has nothing to complain about."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit

VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event =>
    window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@pytest.mark.parametrize("path", ["", "zh", "pt", "endpoints"])
def test_no_page_is_restricted_where_it_works(visit: Callable[..., Visit], path: str) -> None:
    window = visit()
    told: list[str] = []
    window.page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    window.page.add_init_script(VIOLATIONS)
    if path == "endpoints":
        window.page.goto(f"{window.address}{path}")
        expect(window.page.locator("#gs-endpoints")).to_be_visible()
    else:
        page = window.go(f"{path}?model=Qwen/Qwen3-8B")
        expect(page.locator("#gs-answer .gs-eyebrow")).to_have_text("Qwen/Qwen3-8B")
    assert [line for line in told if line.startswith("error")] == []
    assert window.page.evaluate("() => window.violations") == []
