"""The visitor's own machine and prices: they count, are remembered, and stand in the address."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from gpusizer.text import Language
from gpusizer.ui.page.page_scripts import STORED_MACHINE
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.conftest import wait_for_values
from tests.browser.test_page import Open, query


def field(page: Any, name: str, tab: str = "size", language: Language = "en") -> Any:
    """Return the field of a tab, which its label names in full."""
    fold = page.locator(f"#gs-{tab}-machine")
    return fold.get_by_label(Words(language)(f"field.{name}.label"))


def unfold(page: Any, tab: str = "size") -> None:
    page.wait_for_function("() => window.gsLoaded")
    page.click(f"#gs-{tab}-machine > button")
    expect(field(page, "used_gb", tab)).to_be_editable()
    wait_for_values(page)


def test_what_is_typed_is_remembered_until_it_is_emptied(visit: Open) -> None:
    window = visit()
    page = window.go("/")
    unfold(page)
    for name, value in (("used_gb", "3.5"), ("gpu_usd", "900")):
        field(page, name).fill(value)
        page.wait_for_function(
            "([key, name, value]) => JSON.parse(localStorage.getItem(key) ?? '{}')[name] === value",
            arg=[STORED_MACHINE, name, float(value)],
        )
    page.goto(window.address)
    expect(field(page, "used_gb")).to_have_value("3.5")
    expect(field(page, "used_gb")).to_be_visible()
    assert query(page) == {"used_gb": ["3.5"], "gpu_usd": ["900"]}
    for name in ("used_gb", "gpu_usd"):
        field(page, name).fill("")
    assert page.evaluate(f"localStorage.getItem('{STORED_MACHINE}')") == "{}"
    page.goto(window.address)
    page.wait_for_function("() => window.gsLoaded")
    assert query(page) == {}
    expect(field(page, "used_gb")).to_be_hidden()
