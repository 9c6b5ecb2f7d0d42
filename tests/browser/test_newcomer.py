"""A newcomer: a card of 24 GB with a third in use, no idea of quantization, and 2,000 dollars.

Three clicks tell what to run on it and how fast, how to check that, and what to buy.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.api.plain_http import ask
from tests.browser.test_page import PATHS, Open, query, wait_for_answer
from tests.nightly import some

CARD = "4090 (16 GB free)"
BUDGET = 2000
WIDTHS = (390, 1280)


@pytest.mark.parametrize("language", some(LANGUAGES, of=3, start=1))
def test_three_clicks_answer_a_newcomer(visit: Open, language: Language) -> None:
    words, window = Words(language), visit(1280)
    page = window.go(f"{PATHS[language]}?tab=reverse")
    page.wait_for_function("() => window.gsLoaded")
    field = page.locator("#gs-reverse-gpu input, #gs-reverse-gpu textarea")
    field.fill(CARD)
    field.press("Enter")
    model = page.locator("#gs-reverse-grid [role=gridcell] a").first
    model.click()

    (run,) = ask(window.address, "models-for", {"gpu": CARD, "top": 1}).json()["models"]
    page.wait_for_url(lambda url: "model=" in url)
    assert urlsplit(page.url).path == PATHS[language]
    assert query(page)["model"] == [run["repo_id"]]
    wait_for_answer(page, run["repo_id"])
    card = page.locator("#gs-cards")
    for told in (
        words.verdict("fits"),
        run["quant_name"],
        words.speed(run["decode_tokens_per_second"]["likely"]),
    ):
        expect(card).to_contain_text(told)
    card.locator(".gs-benchmark summary").click()
    expect(card.locator(".gs-benchmark code").first).to_contain_text("llama-bench")
    for width in WIDTHS:
        window.show(width, "light")
        window.shot(f"newcomer-card-{language}-{width}")

    page.click("#gs-advanced button")
    budget = page.get_by_label(words("field.max_usd.label"))
    budget.fill(str(BUDGET))
    budget.press("Enter")
    page.wait_for_function("() => location.search.includes('max_usd')")
    asked = {"model": run["repo_id"], "max_usd": BUDGET, "card": "false"}
    first = ask(window.address, "size", asked).json()["ranking"][0]
    assert first["price"]["buy_usd"] <= BUDGET
    expect(page.locator("h2.gs-answer")).to_contain_text("GeForce RTX 4090 24GB")
    expect(page.locator("#gs-answer")).to_contain_text(first["gpu_name"])
    expect(page.locator("#gs-ranking-grid [role=row][data-index='0']")).to_contain_text(
        first["gpu_name"]
    )
    for width in WIDTHS:
        window.show(width, "light")
        window.shot(f"newcomer-budget-{language}-{width}")
