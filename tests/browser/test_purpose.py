"""For whom a model is to run, and on which machine: the first choices of a visitor."""

from __future__ import annotations

from playwright.sync_api import expect

from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.test_page import Open, query

MODEL, MACHINE = "Qwen/Qwen3-30B-A3B", "3060 + 64 GB RAM"


def test_the_verdict_is_about_the_machine_that_is_remembered(visit: Open) -> None:
    window = visit()
    page = window.go("/")
    page.wait_for_function("() => window.gsLoaded")
    page.fill("#gs-gpu input", MACHINE)
    page.fill("#gs-model input", MODEL)
    page.press("#gs-model input", "Enter")
    answer = page.locator("#gs-answer")
    expect(answer.locator("h2")).to_contain_text("GeForce RTX 3060 12GB")
    expect(answer).to_contain_text("Among all GPUs")
    mine = page.locator("#gs-cards th[data-gpu]").first
    expect(mine).to_contain_text(Words("en")("field.gpu.reverse"))
    expect(mine.locator("[data-remove]")).to_have_count(0)
    expect(page.locator("#gs-cards [data-remove]")).to_have_count(3)
    assert query(page)["gpu"] == [MACHINE]
    page = window.go("/?tab=reverse")
    expect(page.locator("#gs-reverse-gpu input")).to_have_value(MACHINE)
    page.locator("#gs-reverse h2").first.wait_for()


def test_fields_of_several_users_open_and_are_emptied_for_one(visit: Open) -> None:
    window = visit(390)
    page = window.go(f"/?model={MODEL}")
    page.locator("#gs-answer").wait_for()
    users = page.locator("#gs-concurrency input")
    expect(users).to_be_hidden()
    page.click("[data-purpose=users]")
    users.fill("8")
    users.press("Enter")
    expect(page.locator("#gs-answer h2")).to_contain_text("8 users")
    assert query(page)["concurrency"] == ["8"]
    page.click("[data-purpose=me]")
    page.wait_for_function("() => !location.search.includes('concurrency')")
    expect(users).to_be_hidden()
    page.go_back()
    expect(users).to_be_visible()
    expect(users).to_have_value("8")


def test_fine_tuning_has_the_model_and_the_machine(visit: Open) -> None:
    page = visit().go("/?model=Qwen/Qwen3-8B&gpu=4090&context=4096")
    page.locator("#gs-answer").wait_for()
    page.click("[data-purpose=training]")
    expect(page.locator("#gs-training")).to_contain_text("RTX 4090")
    assert query(page) == {"tab": ["train"], "model": ["Qwen/Qwen3-8B"], "gpu": ["4090"]}
    page.go_back()
    expect(page.locator("#gs-answer h2")).to_contain_text("Qwen3-8B")
    expect(page.locator("[data-purpose=me]")).to_have_attribute("aria-pressed", "true")
