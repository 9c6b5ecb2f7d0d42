"""Optional numbers that nobody states: a fold that is opened before a question adds none."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.forms import FORMS
from tests.browser.test_page import LLAMA, PATHS, Open, query
from tests.nightly import some

WAYS = ("enter", "button", "example")
ASKED = {
    "size": ("#gs-model", LLAMA, "#gs-go", "#gs-answer"),
    "compare": ("#gs-compare-model", LLAMA, "#gs-compare-go", "#gs-compare-query"),
    "train": ("#gs-train-model", LLAMA, "#gs-train-go", "#gs-training"),
    "reverse": ("#gs-reverse-gpu", "4090", "#gs-reverse-go", "#gs-reverse"),
}
"""By tab: its first field, what is asked, its button, and what its answer shows."""


def asks(language: Language) -> list[tuple[str, str]]:
    """Choose tabs and ways so that all languages together try each way in each tab."""
    at = LANGUAGES.index(language)
    pairs = enumerate(ASKED)
    others = [(tab, WAYS[(at + place) % 3]) for place, tab in pairs if tab != "size"]
    return [*itertools.product(["size"], WAYS), *others]


def unfold_all(page: Any) -> None:
    """Open every fold of the open tab that has fields."""
    page.wait_for_function("() => window.gsLoaded")
    for fold in page.locator(".gs-fold > button:visible").all():
        fold.click()
    expect(page.locator(".gs-fold:visible input[type=number]").last).to_be_visible()


@pytest.mark.parametrize("language", some(LANGUAGES, of=3, start=2))
def test_a_fold_that_is_opened_first_states_nothing(visit: Open, language: Language) -> None:
    window = visit()
    for tab, way in some(asks(language), of=2):
        field, text, button, answer = ASKED[tab]
        page = window.go(f"{PATHS[language]}?tab={tab}")
        unfold_all(page)
        values = page.locator(".gs-fold:visible input[type=number]").evaluate_all(
            "fields => fields.map(field => field.value).filter(value => value !== '')"
        )
        usual = ["1", "8192"] if tab == "size" else []
        assert values == usual, (tab, "what the page shows before anything is typed")
        if way == "example":
            page.locator("[data-model]:visible, a.gs-try:visible").first.click()
        else:
            page.fill(f"{field} :is(input, textarea)", text)
            if way == "enter":
                page.press(f"{field} :is(input, textarea)", "Enter")
            else:
                page.click(button)
        if tab == "compare" and way != "example":  # nothing is picked yet
            page.wait_for_function("() => location.search.includes('model=')")
        else:
            page.locator(answer if tab != "compare" else ".gs-side").first.wait_for()
        expect(page.locator("#gs-error")).to_have_count(0)
        page.wait_for_function("() => /(model|gpu)=/.test(location.search)")
        form = FORMS["size"]
        stated = set(query(page)) & {*form.names} - {*form.first}
        assert stated == set(), (tab, way)
