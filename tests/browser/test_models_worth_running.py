"""The reverse question: families in their order, their copies, filters, in both widths."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from tests.api.plain_http import ask
from tests.browser.axe import serious
from tests.browser.test_page import Open

GRID = "#gs-reverse-grid"


def column(page: Any, grid: str, index: int) -> list[str]:
    """Return the texts of a column's cells, from the top row on; all are read at one moment."""
    cells: list[tuple[int, str]] = page.eval_on_selector_all(
        f"{grid} [role=row][data-index] > [data-col='{index}']",
        "cells => cells.map(cell => [Number(cell.parentElement.dataset.index), cell.innerText])",
    )
    return [text for _, text in sorted(cells)]


def sort(page: Any, grid: str, index: int, order: str) -> None:
    """Sort a grid by the menu of a column."""
    page.click(f"{grid} [data-heading='{index}'] [aria-haspopup=menu]")
    page.get_by_role("menuitem", name=order).click()


def test_one_row_for_each_family_with_its_copies_folded(visit: Open) -> None:
    window = visit()
    fields = {"gpu": "4090", "license": "apache-2.0"}
    models = ask(window.address, "models-for", {**fields, "top": 5}).json()["models"]
    window.page.goto(f"{window.address}?tab=reverse&gpu=4090&license=apache-2.0")
    page = window.page
    page.locator(f"{GRID} [role=gridcell]").first.wait_for()
    copied = next(model for model in models if model["copies"])
    copies = page.locator("#gs-copies")
    for width in (1280, 390):
        window.show(width, "light")
        names = column(page, GRID, 0)
        assert [name.split("\n")[0] for name in names[:5]] == [row["repo_id"] for row in models]
        assert not any(copied["copies"][0]["repo_id"] in name.split("\n") for name in names)
        expect(page.locator("#gs-reverse .gs-order")).to_contain_text("Figures of use")
    expect(copies.get_by_text(copied["copies"][0]["repo_id"], exact=True)).to_be_hidden()
    copies.locator("summary").click()
    expect(copies.get_by_text(copied["copies"][0]["repo_id"], exact=True)).to_be_visible()
    link = page.locator(f"{GRID} [role=gridcell] a").first.get_attribute("href")
    assert parse_qs(urlsplit(str(link)).query)["gpus"] == ["4090"]
    sort(page, GRID, 1, "Sort ascending")
    expect(page.locator(f"{GRID} [role=row][data-index='0']")).not_to_contain_text(
        models[0]["repo_id"]
    )
    window.shot("models-390")


def test_a_purpose_is_a_chip_and_a_phone_shows_three_columns(visit: Open) -> None:
    window = visit(390)
    page = window.go("/?tab=reverse&gpu=4090&purpose=code")
    page.locator(f"{GRID} [role=gridcell]").first.wait_for()
    expect(page.locator("#gs-reverse h2")).to_contain_text("For coding on GeForce RTX 4090 24GB")
    expect(page.locator(".gs-picks article")).to_have_count(3)
    heads = page.locator(f"{GRID} th[role=columnheader]").locator("visible=true")
    expect(heads).to_have_count(3)
    cells = page.locator(f"{GRID} [role=row][data-index='0'] > [data-col]").locator("visible=true")
    edges = [box["x"] + box["width"] for box in (cell.bounding_box() for cell in cells.all())]
    assert len(edges) == 3 and max(edges) <= 390
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert serious(page) == []
    page.locator("#gs-reverse-purpose label", has_text="Chat").click()
    expect(page.locator("#gs-reverse h2")).to_contain_text("For chat on GeForce RTX 4090 24GB")
    page.wait_for_url("**purpose=chat**")
    window.shot("models-purpose-390")
