"""Seven visitors of buying guides, each with a question, on a desktop and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.test_page import Open, see
from tests.nightly import some

WORDS = Words("en")
FIELDS = {"size": "#gs-model", "train": "#gs-train-model", "reverse": "#gs-reverse-gpu"}


def ask(page: Any, tab: str, text: str) -> None:
    """Type into the first field of a tab and press Enter."""
    page.wait_for_function("() => window.gsLoaded")
    field = page.locator(f"{FIELDS[tab]} :is(input, textarea)")
    field.fill(text)
    field.press("Enter")


def pick(page: Any, gpus: str) -> None:
    """Add GPUs to those that stand side by side below an answer."""
    see(page, "cards")
    adder = page.locator(".gs-adder input:visible").first
    adder.fill(gpus)
    adder.press("Enter")


def has_no_error(page: Any) -> None:
    expect(page.locator(".gs-error:visible")).to_have_count(0)


@pytest.mark.parametrize("width", some([1280, 390], of=2, start=1))
def test_seven_visitors_are_answered(visit: Open, width: int) -> None:
    window = visit(width)

    page = window.go("/?tab=reverse")  # 1a: what can my 3060 run?
    ask(page, "reverse", "3060 12 GB")
    page.locator("#gs-reverse-grid [role=gridcell] a").first.wait_for()
    has_no_error(page)

    page = window.go("/")  # 1b: a 3060 and 64 GB of memory
    page.wait_for_function("() => window.gsLoaded")
    page.fill("#gs-gpu input", "3060 + 64 GB RAM")
    ask(page, "size", "Qwen/Qwen3-30B-A3B")
    expect(page.locator("#gs-answer h2")).to_contain_text("RTX 3060")
    expect(page.locator("#gs-cards")).to_contain_text("64 GB")
    has_no_error(page)

    page = window.go("/?tab=train&method=qlora")  # 2: QLoRA on a T4
    page.wait_for_function("() => window.gsLoaded")
    page.fill("#gs-train-gpu input", "T4")
    ask(page, "train", "meta-llama/Llama-3.1-8B-Instruct")
    expect(page.locator("#gs-training")).to_contain_text("Tesla T4")
    has_no_error(page)

    page = window.go("/")  # 3: a load of 50 users, stated before the model
    page.wait_for_function("() => window.gsLoaded")
    page.click("[data-purpose=users]")
    page.fill("#gs-concurrency input", "50")
    ask(page, "size", "Qwen/Qwen3-32B")
    expect(page.locator("#gs-answer h2").first).to_contain_text("Qwen3-32B")
    assert "concurrency=50" in page.url
    has_no_error(page)

    for model in ("deepseek-ai/DeepSeek-R1", "openai/gpt-oss-120b"):  # 4: a Mac
        page = window.go("/")
        page.wait_for_function("() => window.gsLoaded")
        page.fill("#gs-gpu input", "Mac Studio 128 GB")
        ask(page, "size", model)
        expect(page.locator("#gs-answer h2").first).to_contain_text("128GB")
        has_no_error(page)

    page = window.go("/")  # 5: four machines at once
    ask(page, "size", "google/gemma-3-27b-it")
    page.locator("#gs-answer h2").first.wait_for()
    pick(page, "4090, 2x3090, L40S, A100")
    expect(page.locator("#gs-cards [data-remove]")).to_have_count(4)
    for name in ("RTX 4090", "RTX 3090", "L40S", "A100"):
        expect(page.locator("#gs-cards")).to_contain_text(name)
    has_no_error(page)

    page = window.go("/")  # 6: a name that is not an ID is told what may be meant
    ask(page, "size", "Qwen/Qwen3-8")
    page.locator(".gs-error [data-model]").first.click()
    page.locator("#gs-answer h2").first.wait_for()
    has_no_error(page)

    page = window.go("/")  # 7: a picture model
    ask(page, "size", "black-forest-labs/FLUX.1-dev")
    expect(page.locator("#gs-answer h2").first).to_contain_text("FLUX.1-dev")
    has_no_error(page)
