"""What the first page and an answer recommend, why, and what else one could choose."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.api.plain_http import ask
from tests.browser.test_page import Open, wait_for_answer
from tests.browser.test_tabs import column, sort

MODEL = "Qwen/Qwen3-8B"

WIDTHS = (1280, 390)
GRID = "#gs-ranking-grid"
SORTED = {1: "Sort descending", 4: "Sort descending", 6: "Sort ascending"}
"""Columns of the ranking that show a number first: speed, memory to spare and power."""


def numbers(texts: list[str]) -> list[float]:
    return [float(re.sub(r"[^\d.]", "", text.split("\n")[0])) for text in texts]


def told(page: Page, part: str) -> str:
    """The conclusion of a part of the page, as programs get it."""
    sentences = [page.inner_text(f"{part} {place}") for place in ("h2.gs-answer", ".gs-why")]
    return " ".join(sentences).replace("\u2011", "-")


def test_the_headline_is_the_first_row_and_alternatives_stand_beside_it(visit: Open) -> None:
    """The page says what a program gets for the same question, in both widths; on a phone, too, its
    rows are sorted by a column."""
    window = visit()
    report = ask(window.address, "size", {"model": MODEL, "card": "false"}).json()
    first, said = report["ranking"][0], report["answer"]
    page = window.go(f"/?model={MODEL}")
    wait_for_answer(page, MODEL)
    row = page.locator(f"{GRID} [role=row][data-index='0']")
    weighed = page.locator("#gs-answer .gs-weighed li")
    in_sentences = [note for note in said["weighed"] if not note["code"].startswith("answer_or_")]
    for width in WIDTHS:
        window.show(width, "light")
        expect(page.locator("[data-rank=recommended]")).to_have_attribute("aria-pressed", "true")
        expect(row).to_contain_text(first["gpu_name"])
        assert told(page, "#gs-answer") == said["sentence"]
        expect(page.locator("#gs-ways dl > div")).to_have_count(3)
        expect(weighed).to_have_count(len(in_sentences))
        for line, note in zip(weighed.all(), in_sentences, strict=True):
            assert line.inner_text().replace("\u2011", "-") == note["message"]
            box = line.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
        prices = [text for text in column(page, GRID, 2) if text != "—"]
        assert all(
            re.search(r"\b(used|new|launch|computer)\b.*\d{4}", price, re.S) for price in prices
        )
    window.shot("recommendation-390")
    for place, order in SORTED.items():
        sort(page, GRID, place, order)
        expect(page.locator(f"{GRID} [data-heading='{place}'] .sort-indicator")).to_be_visible()
        shown = numbers([text for text in column(page, GRID, place) if text != "—"])
        assert len(shown) > 3
        assert shown == sorted(shown, reverse=order == "Sort descending")
        sort(page, GRID, place, "Clear sort")  # else the next order counts among equals alone
