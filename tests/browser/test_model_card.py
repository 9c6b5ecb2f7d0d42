"""The section "What the author says" in a real browser, in three languages and two widths."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.conftest import Visit
from tests.browser.test_page import PATHS, query, see, wait_for_answer
from tests.carded import CARDED_MODEL
from tests.nightly import paired, some

SECTION = "#gs-model-card"


@pytest.mark.parametrize(("language", "width"), some(paired(LANGUAGES, (1280, 390)), of=3, start=1))
def test_statements_beside_the_numbers_are_taken_over(
    visit: Callable[..., Visit], language: Language, width: int
) -> None:
    words = Words(language)
    window = visit(width)
    page = window.go(f"{PATHS[language]}?model={CARDED_MODEL}")
    wait_for_answer(page, CARDED_MODEL)
    section = page.locator(SECTION)
    expect(section.locator("summary")).to_have_text(words("card.title"))
    expect(section.locator("li")).to_have_count(4)
    expect(section).to_contain_text(words("card.verdict.needs_less"))
    assert section.locator("img, script").count() == 0
    targets = section.locator("li a").evaluate_all("links => links.map(link => link.host)")
    assert set(targets) == {"huggingface.co"}
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    window.shot(f"model-card-{language}-{width}")
    see(page, "facts")
    page.click(f"{SECTION} a.gs-button")
    page.wait_for_url("**as_card=true**")
    wait_for_answer(page, CARDED_MODEL)
    assert query(page)["context"] == ["32768"] and query(page)["engine"] == ["vllm"]
    expect(page.locator("#gs-answer .gs-notes")).to_contain_text("14")  # the line of the card
