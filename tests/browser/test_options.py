"""The fold of options: what the purpose needs, and nothing that a visitor does not see is asked."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from gpusizer.ui.page.forms import PURPOSES_OF_FIELDS
from tests.browser.test_page import LLAMA, Open, query, wait_for_answer

FLUX = "black-forest-labs/FLUX.1-dev"
GEMMA = "google/gemma-4-31B-it"
MOST_PIXELS = 700  # of the open fold on a phone, for one user


def seen(page: Any) -> set[str]:
    """Return the purposes whose fields are all seen; of each either all or none are."""
    shown = {
        purpose: {page.locator(f"#gs-{name}").is_visible() for name in names}
        for purpose, names in PURPOSES_OF_FIELDS.items()
    }
    assert all(len(states) == 1 for states in shown.values()), shown
    return {purpose for purpose, states in shown.items() if states == {True}}


def test_models_that_read_pictures_have_fields_for_them(visit: Open) -> None:
    page = visit(390).go(f"/?model={GEMMA}&gpus=4090")
    wait_for_answer(page, GEMMA)
    page.click("#gs-advanced > button")
    expect(page.locator("#gs-images")).to_be_visible()
    assert seen(page) == {"tokens", "vision"}
    expect(page.locator("#gs-image_width input")).to_have_value("1024")
    page.fill("#gs-images input", "3")
    page.press("#gs-images input", "Enter")
    page.wait_for_url("**images=3**")
    page.click("[data-purpose=users]")
    assert seen(page) == {"tokens", "users", "vision"}
    page.fill("#gs-kv_offload_gb input", "32")
    page.press("#gs-kv_offload_gb input", "Enter")
    page.wait_for_url("**kv_offload_gb=32**")
    page.fill("#gs-model input", LLAMA)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, LLAMA)
    assert seen(page) == {"tokens", "users"}
    assert "images" not in query(page) and query(page)["kv_offload_gb"] == ["32"]


def test_options_are_those_of_the_purpose(visit: Open) -> None:
    page = visit(390).go(f"/?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    page.click("#gs-advanced > button")
    expect(page.locator("#gs-context")).to_be_visible()
    assert seen(page) == {"tokens"}
    assert page.locator("#gs-advanced").bounding_box()["height"] < MOST_PIXELS
    page.click("[data-purpose=users]")
    assert seen(page) == {"tokens", "users"}
    for name, text in (("concurrency", "4"), ("prompt_tokens", "900")):
        page.fill(f"#gs-{name} input", text)
        page.press(f"#gs-{name} input", "Enter")
        page.wait_for_url(f"**{name}={text}**")
    page.click("[data-purpose=me]")
    page.wait_for_function("() => !/concurrency|prompt_tokens/.test(location.search)")
    assert seen(page) == {"tokens"}
    expect(page.locator("#gs-prompt_tokens input")).to_have_value("")
    page.fill("#gs-model input", FLUX)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, FLUX)
    expect(page.locator("#gs-steps")).to_be_visible()
    assert seen(page) == {"pictures"}
    page.fill("#gs-steps input", "7")
    page.press("#gs-steps input", "Enter")
    page.wait_for_url("**steps=7**")
    page.fill("#gs-model input", LLAMA)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, LLAMA)
    assert seen(page) == {"tokens"} and "steps" not in query(page)
