"""Visitors of buying guides, each with a question, on a desktop and on a phone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from tests.browser.test_page import Open, see
from tests.nightly import paired, some

FIELDS = {"size": "#gs-model", "train": "#gs-train-model", "reverse": "#gs-reverse-gpu"}
HEADLINE = "#gs-answer h2 >> nth=0"


@dataclass(frozen=True)
class Visitor:
    """What one does, step by step, and texts that parts of the page show then.

    Attributes:
        text: what is asked in the first field of a tab.
        shown: by selector, a text of the answer.
        stated: by selector, what is filled in before.
        pressed: what is clicked before that.
        chosen: what is clicked in the answer.
        picked: GPUs that are added to it.
    """

    text: str
    shown: dict[str, str]
    tab: str = "size"
    stated: tuple[str, str] | None = None
    pressed: str = ""
    chosen: str = ""
    picked: str = ""


FOUR = ("RTX 4090", "RTX 3090", "L40S", "A100")
MAC = ("#gs-gpu input", "Mac Studio 128 GB")
VISITORS = {
    "a 3060": Visitor("3060 12 GB", {"#gs-reverse-grid": "Qwen"}, "reverse"),
    "a 3060 and 64 GB of memory": Visitor(
        "Qwen/Qwen3-30B-A3B",
        {HEADLINE: "RTX 3060", "#gs-cards": "64 GB"},
        stated=("#gs-gpu input", "3060 + 64 GB RAM"),
    ),
    "a Mac": Visitor("deepseek-ai/DeepSeek-R1", {HEADLINE: "128GB"}, stated=MAC),
    "QLoRA on a T4": Visitor(
        "meta-llama/Llama-3.1-8B-Instruct",
        {"#gs-training": "Tesla T4"},
        "train",
        stated=("#gs-train-gpu input", "T4"),
    ),
    "a load of 50 users, stated before the model": Visitor(
        "Qwen/Qwen3-32B",
        {HEADLINE: "Qwen3-32B"},
        stated=("#gs-concurrency input", "50"),
        pressed="[data-purpose=users]",
    ),
    "four machines at once": Visitor(
        "google/gemma-3-27b-it",
        {f"#gs-cards th[data-gpu] >> nth={at}": name for at, name in enumerate(FOUR)},
        picked="4090, 2x3090, L40S, A100",
    ),
    "another Mac": Visitor("openai/gpt-oss-120b", {HEADLINE: "128GB"}, stated=MAC),
    "a name that is told what it may mean": Visitor(
        "Qwen/Qwen3-8", {HEADLINE: "Qwen3-8"}, chosen=".gs-error [data-model] >> nth=0"
    ),
    "a picture model": Visitor("black-forest-labs/FLUX.1-dev", {HEADLINE: "FLUX.1-dev"}),
}


@pytest.mark.parametrize(("name", "width"), some(paired(VISITORS, (1280, 390)), of=3, start=2))
def test_a_visitor_is_answered(visit: Open, name: str, width: int) -> None:
    asked = VISITORS[name]
    page = visit(width).go(f"/?tab={asked.tab}&method=qlora" if asked.tab != "size" else "/")
    page.wait_for_function("() => window.gsLoaded")
    if asked.pressed:
        page.click(asked.pressed)
    if asked.stated:
        page.fill(*asked.stated)
    field = page.locator(f"{FIELDS[asked.tab]} :is(input, textarea)")
    field.fill(asked.text)
    field.press("Enter")
    if asked.chosen:
        page.click(asked.chosen)
    if asked.picked:
        page.locator(HEADLINE).wait_for()
        see(page, "cards")
        adder = page.locator(".gs-adder input:visible").first
        adder.fill(asked.picked)
        adder.press("Enter")
        expect(page.locator("#gs-cards [data-remove]")).to_have_count(4)
    for part, text in asked.shown.items():
        expect(page.locator(part)).to_contain_text(text)
    expect(page.locator(".gs-error:visible")).to_have_count(0)
