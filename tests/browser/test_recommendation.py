"""What the first page and an answer recommend, why, and what else one could choose."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from gpusizer.ui.presenters.words import Words
from tests.api.plain_http import ask
from tests.browser.conftest import Visit
from tests.browser.test_page import Open, wait_for_answer
from tests.browser.test_tabs import column, sort

MODEL = "Qwen/Qwen3-8B"
WORDS = Words("en")
WIDTHS = (1280, 390)
GRID = "#gs-ranking-grid"
SORTED = {2: "Sort descending", 3: "Sort descending", 6: "Sort ascending"}
"""Columns of the ranking that show a number first: memory to spare, speed and power."""


def numbers(texts: list[str]) -> list[float]:
    return [float(re.sub(r"[^\d.]", "", text.split("\n")[0])) for text in texts]


def why_of(text: str) -> str:
    """A reason on the page as programs get it."""
    return text.replace("\u2011", "-").replace(" · ", "; ").lower()


def test_the_headline_is_the_first_row_and_alternatives_stand_beside_it(visit: Open) -> None:
    """The page says what a program gets for the same question, in both widths; on a phone, too, its
    rows are sorted by a column."""
    window = visit()
    report = ask(window.address, "size", {"model": MODEL, "card": "false"}).json()
    first, alternatives = report["ranking"][0], report["alternatives"]
    page = window.go(f"/?model={MODEL}")
    wait_for_answer(page, MODEL)
    row = page.locator(f"{GRID} [role=row][data-index='0']")
    choices = page.locator("#gs-answer .gs-choice")
    for width in WIDTHS:
        window.show(width, "light")
        expect(page.locator("[data-rank=recommended]")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("h2.gs-answer")).to_contain_text(f"runs on one {first['gpu_name']}")
        expect(row).to_contain_text(first["gpu_name"])
        assert why_of(page.inner_text("#gs-answer .gs-why")) == first["why"].lower()
        expect(choices).to_have_count(3)
        for choice, alternative in zip(choices.all(), alternatives, strict=True):
            expect(choice.locator("h3")).to_contain_text(WORDS(f"choice.{alternative['kind']}"))
            expect(choice.locator("strong")).to_contain_text(alternative["gpu_name"])
            expect(choice).to_contain_text("$")
            box = choice.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
        prices = [text for text in column(page, GRID, 4) if text != "—"]
        assert all(re.search(r"\b(used|new|launch)\b.*\d{4}", price, re.S) for price in prices)
    window.shot("recommendation-390")
    for place, order in SORTED.items():
        sort(page, GRID, place, order)
        expect(page.locator(f"{GRID} [data-heading='{place}'] .sort-indicator")).to_be_visible()
        shown = numbers([text for text in column(page, GRID, place) if text != "—"])
        assert len(shown) > 3
        assert shown == sorted(shown, reverse=order == "Sort descending")
        sort(page, GRID, place, "Clear sort")  # else the next order counts among equals alone


def test_a_training_opens_with_its_recommendation(visit: Open) -> None:
    window: Visit = visit(390)
    report = ask(window.address, "train", {"model": MODEL, "method": "lora"}).json()
    first = report["ranking"][0]
    window.page.goto(f"{window.address}?tab=train&method=lora&model={MODEL}")
    page = window.page
    page.locator("#gs-training .gs-ranked tbody tr").first.wait_for()
    for width in WIDTHS:
        window.show(width, "light")
        expect(page.locator("#gs-training h2")).to_contain_text(first["gpu_name"])
        row = page.locator("#gs-training .gs-ranked tbody tr").first
        expect(row).to_contain_text(first["gpu_name"])
        assert why_of(page.inner_text("#gs-training .gs-why")) == first["why"].lower()
        names = page.locator("#gs-training .gs-choice strong").all_inner_texts()
        assert len(names) == len(report["alternatives"]) >= 2
        for name, alternative in zip(names, report["alternatives"], strict=True):
            assert name.endswith(alternative["gpu_name"])
