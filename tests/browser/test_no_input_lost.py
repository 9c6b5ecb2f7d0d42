"""Nothing that a visitor does while an answer runs is lost, and an old answer looks old."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.test_page import LLAMA, PATHS, Open, picked_gpus, query, see, wait_for_answer
from tests.nightly import some
from tests.slow import SLOW_MODEL

OTHER = "Qwen/Qwen3-8B"
BUSY = "#gs-answer-block[aria-busy=true]"


def enter(page: Any, field: str, text: str) -> None:
    page.fill(f"{field} :is(input, textarea)", text)
    page.press(f"{field} :is(input, textarea)", "Enter")


def wait_for_address(page: Any, **fields: str) -> None:
    for name, value in fields.items():
        page.wait_for_function(
            "([name, value]) => new URLSearchParams(location.search).get(name) === value",
            arg=[name, value],
        )


@pytest.mark.parametrize("language", some(LANGUAGES, of=3))
def test_the_second_of_two_questions_stands(visit: Open, language: Language) -> None:
    """While it is read, the earlier answer is greyed, with its name on it."""
    page = visit().go(f"{PATHS[language]}?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    enter(page, "#gs-model", SLOW_MODEL)
    expect(page.locator(BUSY)).to_have_attribute(
        "data-earlier", Words(language)("earlier", name=LLAMA)
    )
    assert page.inner_text("#gs-answer .gs-eyebrow") == LLAMA
    page.wait_for_timeout(250)
    enter(page, "#gs-model", OTHER)
    wait_for_answer(page, OTHER)
    wait_for_address(page, model=OTHER)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert page.input_value("#gs-model input") == OTHER


def test_the_second_of_two_orders_stands(visit: Open) -> None:
    page = visit().go(f"/?model={SLOW_MODEL}&gpus=4090")
    wait_for_answer(page, SLOW_MODEL)
    see(page, "ranking")
    page.click("[data-rank=smallest]")
    page.wait_for_timeout(400)
    page.click("[data-rank=fastest]")
    wait_for_address(page, rank_by="fastest")
    expect(page.locator("[data-rank=fastest]")).to_have_attribute("aria-pressed", "true")


def test_what_is_done_while_an_answer_runs_counts_for_it(visit: Open) -> None:
    """Two GPUs are added and one removed while another order is worked out."""
    page = visit().go(f"/?model={SLOW_MODEL}&gpus=4090,3070")
    wait_for_answer(page, SLOW_MODEL)
    page.evaluate("document.querySelector('[data-rank=fastest]').click()")
    for gpu in ("h100", "2x3090"):
        enter(page, ".gs-adder", gpu)
    page.click("[data-remove='4090']")
    wait_for_address(page, gpus="3070,h100,2x3090", rank_by="fastest")
    assert picked_gpus(page) == ["3070", "h100", "2x3090"]


def test_a_gpu_that_is_picked_while_a_call_is_sent_is_shown(visit: Open) -> None:
    """Gradio keeps a call back only once the one before it is on its way."""
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    first, second = (
        page.locator("[data-pick]").nth(place).get_attribute("data-pick") for place in (0, 1)
    )
    page.evaluate(
        """([first, second]) => {
          const pick = gpu => document.querySelector(`[data-pick="${gpu}"]`).click();
          const {ask} = gsAsking;
          gsAsking.ask = (...values) => {
            const asked = ask(...values);
            gsAsking.ask = ask;
            pick(second);
            return asked;
          };
          pick(first);
        }""",
        [first, second],
    )
    wait_for_address(page, gpus=f"4090,{first},{second}")
    assert picked_gpus(page) == ["4090", first, second]


def test_a_gpu_that_changes_while_an_answer_runs_is_answered(visit: Open) -> None:
    page = visit().go(f"/?tab=train&model={LLAMA}&gpu=4090")
    page.locator("#gs-training").wait_for()
    enter(page, "#gs-train-model", SLOW_MODEL)
    page.wait_for_timeout(200)
    gpu = page.locator("#gs-train-gpu input")
    gpu.fill("T4")
    gpu.press("Enter")
    wait_for_address(page, model=SLOW_MODEL, gpu="T4")
    expect(page.locator("#gs-training")).to_contain_text("T4")


def test_a_field_counts_when_it_is_left(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    page.click("#gs-advanced > button")
    field = page.get_by_label("Context", exact=True)
    expect(field).to_have_value("8192")  # Gradio gives a field that has just appeared its value
    field.fill("4096")
    page.get_by_label(Words("en")("field.max_usd.label")).focus()
    wait_for_address(page, context="4096")
    expect(page.get_by_label(Words("en")("field.max_usd.label"))).to_be_focused()
    expect(page.locator("#gs-answer")).to_contain_text("4,096")
    assert query(page)["gpus"] == ["4090"]


def test_a_number_before_anything_is_named_is_no_question(visit: Open) -> None:
    page = visit().go("/?tab=reverse")
    page.wait_for_function("() => window.gsLoaded")
    field = page.get_by_label("Context", exact=True).locator("visible=true")
    field.fill("4096")
    field.press("Enter")
    enter(page, "#gs-reverse-gpu", "4090")
    wait_for_address(page, gpu="4090", context="4096")
    expect(page.locator("#gs-error")).to_have_count(0)
