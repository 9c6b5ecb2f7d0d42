"""What a visitor sees while a question is answered, and what stays when he asks another."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.axe import serious
from tests.browser.test_page import LLAMA, PATHS, Open, query, wait_for_answer
from tests.nightly import paired, some
from tests.slow import SLOW_MODEL, STEPS

WIDTHS = (1280, 390)
OTHER = "Qwen/Qwen3-8B"
NOTE_STATUSES = """(() => {
  window.told = {};
  const note = () => {
    for (const part of document.querySelectorAll('.gs-status p, .gs-status li')) {
      const place = part.closest('[id$=-status]').id;
      (window.told[place] ??= new Set()).add(part.innerText.trim());
    }
  };
  new MutationObserver(note).observe(document, {childList: true, subtree: true});
})();"""
TOLD = "Object.fromEntries(Object.entries(window.told).map(([at, texts]) => [at, [...texts]]))"


READ = (
    ("size", "", "#gs-answer"),
    ("compare", "&gpus=4090", "#gs-compare-cards .gs-side"),
    ("train", "", "#gs-training"),
)


@pytest.mark.parametrize(("asked", "language"), some(paired(READ, LANGUAGES), of=3, start=1))
def test_every_tab_shows_the_steps_of_reading(
    visit: Open, asked: tuple[str, str, str], language: Language
) -> None:
    tab, question, answer = asked
    window, words = visit(), Words(language)
    window.page.add_init_script(NOTE_STATUSES)
    page = window.go(f"{PATHS[language]}?tab={tab}&model={SLOW_MODEL}{question}")
    page.locator(answer).first.wait_for()
    place = "gs-status" if tab == "size" else f"gs-{tab}-status"
    steps = [words(f"step.{s.name}", count=s.count, total=s.total) for s in STEPS]
    told = page.evaluate(TOLD)
    assert told == {place: [words("reading", model=SLOW_MODEL), *steps]}
    expect(page.locator(".gs-status")).to_have_count(0)


def ask(page: Any, model: str) -> None:
    page.fill("#gs-model input", model)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, model)
    page.wait_for_function("model => location.search.includes(`model=${model}`)", arg=model)


@pytest.mark.parametrize("width", some(WIDTHS, of=2))
def test_parameters_of_a_frame_stay(visit: Open, width: int) -> None:
    page = visit(width).go(f"/?embed=true&__theme=dark&model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    ask(page, OTHER)
    assert (query(page)["embed"], query(page)["__theme"]) == (["true"], ["dark"])
    page.reload()
    wait_for_answer(page, OTHER)
    expect(page.locator(".gs-header")).to_be_hidden()
    expect(page.locator(".gradio-container footer")).to_be_hidden()
    expect(page.locator("body")).to_have_class("dark")
    page.goto(f"{page.url.split('?')[0]}?tab=train&embed=true&__theme=dark")
    page.locator("a.gs-try:visible").first.click()
    page.locator("#gs-training").wait_for()
    assert (query(page)["embed"], query(page)["__theme"]) == (["true"], ["dark"])
    assert query(page)["method"] == ["qlora"]


@pytest.mark.parametrize("width", some(WIDTHS, of=2, start=1))
def test_copies_of_a_model_open_at_its_row(visit: Open, width: int) -> None:
    window = visit(width)
    window.page.add_init_script(NOTE_STATUSES)
    page = window.go("/?tab=reverse&gpu=4090")
    more = page.locator("#gs-reverse-grid [role=gridcell] [data-copies]").first
    more.wait_for()
    assert page.evaluate(TOLD) == {"gs-reverse-status": [Words("en")("reverse.sizing")]}
    expect(page.locator(".gs-status")).to_have_count(0)
    more.click()
    box = page.locator("#gs-copies-box")
    expect(box.locator("h3")).to_have_text(str(more.get_attribute("data-copies")))
    expect(box.locator("li a").first).to_be_focused()
    row, shown = more.bounding_box(), box.bounding_box()
    assert min(abs(row["y"] + row["height"] - shown["y"]), abs(row["y"] - shown["y"])) < 40
    assert shown["x"] >= 0 and shown["x"] + shown["width"] <= width
    assert serious(page) == []
    window.shot(f"copies-{width}")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    more.focus()
    more.press("Enter")
    copy = box.locator("li a").first
    model = copy.inner_text()
    copy.press("Enter")
    page.wait_for_function(
        "model => document.querySelector('#gs-answer .gs-eyebrow')?.textContent === model",
        arg=model,
    )
