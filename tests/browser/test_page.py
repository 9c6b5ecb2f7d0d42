"""The page in a real browser: what a visitor does, in three languages and two widths."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES
from gpusizer.ui.delivery import preloads
from tests.browser.conftest import Held, Visit
from tests.hostile import HOSTILE_MODEL

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PATHS = {"en": "/", "zh": "/zh", "pt": "/pt"}
LOCALES = {"en": "en", "zh": "zh-CN", "pt": "pt-BR"}
FIRST_SCRIPT = "**/assets/index-*.js"
Open = Callable[..., Visit]


def answered(page: Any, model: str) -> None:
    page.wait_for_function(
        "model => document.querySelector('#gs-answer .gs-eyebrow')?.textContent === model"
        " && document.querySelector('#gs-ranking') !== null"
        " && document.querySelector('.gs-card') !== null",
        arg=model,
    )


def picked(page: Any) -> list[str]:
    return [c.get_attribute("data-remove") for c in page.query_selector_all("[data-remove]")]


def wait_for_picks(page: Any, picks: list[str]) -> None:
    page.wait_for_function(
        "picks => JSON.stringify([...document.querySelectorAll('[data-remove]')]"
        ".map(b => b.dataset.remove)) === JSON.stringify(picks)",
        arg=picks,
    )
    page.wait_for_function(
        "picks => new URLSearchParams(location.search).get('gpus') === picks", arg=",".join(picks)
    )


def query(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_paste_an_id_and_press_enter(visit: Open) -> None:
    window = visit()
    page = window.go("/")
    page.fill("#gs-model input", LLAMA)
    page.press("#gs-model input", "Enter")
    answered(page, LLAMA)
    assert "8,030,261,248" in page.inner_text("#gs-facts")
    assert "runs on" in page.inner_text("h2.gs-answer")
    assert page.locator(".gs-card").count() == 4
    page.wait_for_function("() => location.search.includes('model=meta-llama/')")
    assert query(page)["model"] == [LLAMA]
    window.shot("answer")


def test_one_click_on_an_example(visit: Open) -> None:
    page = visit().go("/")
    chip = page.locator("#gs-examples [data-model]").nth(1)
    model = chip.get_attribute("data-model")
    chip.click()
    answered(page, model)
    assert page.input_value("#gs-model input") == model


def test_pick_add_and_remove_gpus(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    answered(page, LLAMA)
    wait_for_picks(page, ["4090"])
    row = page.locator("[data-pick]").first
    row.click()
    wait_for_picks(page, ["4090", row.get_attribute("data-pick")])
    page.fill(".gs-adder input", "2x3090")
    page.press(".gs-adder input", "Enter")
    wait_for_picks(page, ["4090", row.get_attribute("data-pick"), "2x3090"])
    assert "2 × GeForce RTX 3090 24GB" in page.inner_text("#gs-cards")
    page.click("[data-remove='4090']")
    wait_for_picks(page, [row.get_attribute("data-pick"), "2x3090"])


def test_an_unknown_gpu_keeps_the_cards_and_says_why(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090,3070")
    answered(page, LLAMA)
    page.fill(".gs-adder input", "rtx 4091")
    page.click(".gs-adder button")
    page.wait_for_selector(".gs-message")
    assert "rtx 4091" in page.inner_text(".gs-message")
    assert picked(page) == ["4090", "3070"]


def test_order_of_the_ranking(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}")
    answered(page, LLAMA)
    first = page.locator(".gs-ranked tbody tr").first.inner_text()
    page.click("[data-rank=fastest]")
    page.wait_for_selector("[data-rank=fastest][aria-pressed=true]")
    assert page.locator(".gs-ranked tbody tr").first.inner_text() != first
    assert page.locator(".gs-ranked tbody tr:visible").count() == 15
    page.click("[data-more]")
    assert page.locator(".gs-ranked tbody tr:visible").count() == 60


def test_advanced_fields_change_the_answer(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&context=32768&concurrency=4&gpus=4090")
    answered(page, LLAMA)
    assert "32,768" in page.inner_text("#gs-answer")
    page.click("#gs-advanced button")
    field = page.get_by_label("Context", exact=True)
    expect(field).to_have_value("32768")  # what the address asked for has arrived
    field.fill("4096")
    field.press("Tab")  # as one who types leaves the field before the button
    expect(field).to_have_value("4096")
    page.click("#gs-go")
    page.wait_for_function(
        "() => document.querySelector('#gs-answer').textContent.includes('4,096')"
    )
    wait_for_picks(page, ["4090"])  # the same model keeps its cards
    assert query(page)["context"] == ["4096"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_is_a_calm_panel(visit: Open, language: str) -> None:
    window = visit()
    page = window.go(PATHS[language])
    page.fill("#gs-model input", "org/has spaces")
    page.press("#gs-model input", "Enter")
    page.wait_for_selector("#gs-error")
    assert "invalid_model_id" in page.inner_text("#gs-error")
    assert page.input_value("#gs-model input") == "org/has spaces"
    assert page.locator(".toast-body").count() == 0
    window.shot(f"error-{language}")
    page.locator("#gs-error [data-model]").first.click()
    page.wait_for_selector("#gs-ranking")


def test_switching_language_keeps_the_question(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090,3070")
    answered(page, LLAMA)
    page.click(".gs-header a[hreflang='zh-CN']")
    page.wait_for_url("**/zh?**")
    answered(page, LLAMA)
    assert picked(page) == ["4090", "3070"]
    assert "显存" in page.inner_text("#gs-memory")


def test_gpus_alone_are_compared_without_a_model(visit: Open) -> None:
    page = visit().go("/?gpus=3070,h100")
    page.wait_for_selector(".gs-card")
    assert picked(page) == ["3070", "h100"]


def test_a_hostile_repository_runs_nothing(visit: Open) -> None:
    page = visit().go(f"/?model={HOSTILE_MODEL}&gpus=4090")
    answered(page, HOSTILE_MODEL)
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    assert page.locator(".gs-section img, .gs-section script").count() == 0
    assert "<script>" in page.inner_text("#gs-facts")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_fits_its_window(visit: Open, language: str, width: int, theme: str) -> None:
    window = visit(width, theme)
    page = window.go(f"{PATHS[language]}?model={LLAMA}&__theme={theme}")
    answered(page, LLAMA)
    page.click("#gs-advanced button")
    for summary in page.query_selector_all(".gs-details > summary"):
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    shown = page.inner_text("main")
    assert not re.findall(r"\b(?:page|note|error|reason|verdict)\.[a-z_]+", shown)
    assert page.evaluate("document.documentElement.lang") == LOCALES[language]
    small = page.evaluate(
        "() => [...document.querySelectorAll('main *')].filter(e => e.childNodes.length"
        " && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())"
        " && e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) < 14)"
        ".map(e => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40))"
    )
    assert small == []
    window.shot(f"page-{language}-{width}-{theme}")


@pytest.mark.parametrize(("width", "shown"), [(390, "narrow"), (800, "wide"), (1280, "wide")])
def test_pictures_are_drawn_for_the_window(visit: Open, width: int, shown: str) -> None:
    page = visit(width).go(f"/?model={LLAMA}&gpus=4090,2x3090")
    answered(page, LLAMA)
    assert page.locator("#gs-pictures .gs-figure:visible").count() == 0  # the answer stays first
    page.click(".gs-pictures > summary")
    assert page.locator("#gs-pictures .gs-figure:visible").count() == 6
    assert page.locator(f".gs-chart-{shown} svg[role=img]:visible").count() == 6
    assert page.locator("svg[role=img]:visible").count() == 6
    assert "2 × GeForce RTX 3090" in page.inner_text("#gs-memory-picture")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    outside = page.evaluate(
        "() => [...document.querySelectorAll('.gs-chart svg *')].filter(e => {"
        " const box = e.getBoundingClientRect();"
        " return box.width && (box.right > window.innerWidth || box.left < 0); })"
        ".map(e => e.outerHTML.slice(0, 99))"
    )
    assert outside == []
    small = page.evaluate(
        "() => [...document.querySelectorAll('.gs-chart svg')].filter(e => e.clientWidth)"
        ".map(e => 14 * e.clientWidth / e.viewBox.baseVal.width).filter(size => size < 11)"
    )
    assert small == []


def test_pictures_follow_the_picked_gpus_and_stay_unfolded(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    answered(page, LLAMA)
    page.click(".gs-pictures > summary")
    keys = page.locator("#gs-memory-picture .gs-key li")
    expect(keys).to_have_count(1)
    page.fill(".gs-adder input", "3070")
    page.press(".gs-adder input", "Enter")
    expect(keys).to_have_count(2)
    expect(keys.first).to_be_visible()
    page.click("[data-remove='4090']")
    expect(keys).to_have_count(1)
    assert "3070" in keys.first.inner_text()
    page.locator("#gs-memory-picture summary").click()
    assert "Total GiB" in page.inner_text("#gs-memory-picture table")


def test_a_first_visit_fetches_what_the_page_names(visit: Open) -> None:
    """If not, Gradio or the page's components have changed: `python -m scripts.preloads`."""
    window = visit()
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url))
    window.go("/zh")
    window.page.wait_for_load_state("networkidle")
    names = [url.split("/assets/")[1] for url in asked if "/assets/" in url]
    assert sorted(names) == sorted(preloads()), "each of them once"


def place(page: Any, selector: str) -> list[int]:
    box = page.locator(selector).bounding_box()
    return [round(box[side]) for side in ("x", "y", "width", "height")]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_field_can_be_typed_into_before_the_page_is_up(visit: Open, width: int) -> None:
    window = visit(width)
    page, script = window.page, Held(window.page, FIRST_SCRIPT)
    page.goto(window.address, wait_until="commit")
    page.fill("#gs-early input", "Qwen/Qwen3")
    before = place(page, "#gs-early input"), place(page, "#gs-early button")
    page.wait_for_function("() => document.styleSheets.length > 0")
    script.let_go()
    page.locator("#gs-early").wait_for(state="detached")
    page.keyboard.type("-8B")
    assert page.input_value("#gs-model input") == "Qwen/Qwen3-8B", "where the cursor was"
    assert (place(page, "#gs-model input"), place(page, "#gs-go")) == before, "nothing moves"
    page.press("#gs-model input", "Enter")
    answered(page, "Qwen/Qwen3-8B")


WATCH_PLACES = """(() => {
  const places = window.places = new Set();
  const look = () => {
    const early = document.getElementById('gs-early');
    const field = document.querySelector(early ? '#gs-early input' : '#gs-model input');
    const button = document.querySelector(early ? '#gs-early button' : '#gs-go');
    if (button || places.size) places.add(JSON.stringify([field, button].map(part => {
      const {x, y, width, height} = part?.getBoundingClientRect() ?? {};
      return [x, y, width, height];
    })));
    requestAnimationFrame(look);
  };
  look();
})();"""


def is_of_a_component(route: Any) -> bool:
    return re.search(r"/(Index|HTML|Example)-[^/]+$", route.request.url) is not None


@pytest.mark.parametrize("seed", [5, 6, 7, 12])
def test_nothing_moves_in_whatever_order_the_parts_of_the_page_come(visit: Open, seed: int) -> None:
    window = visit((1280, 390)[seed % 2])
    page = window.page
    scripts = [name for name in preloads() if name.endswith(".js")]
    held = Held(page, "**/assets/*.js")
    page.add_init_script(WATCH_PLACES)
    page.goto(window.address, wait_until="commit")
    page.locator("#gs-early button").wait_for()
    held.wait_for(len(scripts))
    held.over = True
    Random(seed).shuffle(held.waiting)
    for route in sorted(held.waiting, key=is_of_a_component):
        route.fallback()
        page.wait_for_timeout(30)
    page.wait_for_function("() => window.gsLoaded")
    assert len(page.evaluate("() => [...window.places]")) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_enter_before_the_page_is_up_asks(visit: Open, language: str) -> None:
    window = visit()
    page = window.page
    script = Held(page, FIRST_SCRIPT)
    page.goto(window.address + PATHS[language].lstrip("/"), wait_until="commit")
    page.fill("#gs-early input", LLAMA)
    script.over = True  # for the next page: this one never gets it
    page.press("#gs-early input", "Enter")
    answered(page, LLAMA)
    assert urlsplit(page.url).path == PATHS[language]
    assert page.locator("#gs-early").count() == 0


def test_gradios_own_description_of_the_endpoints(visit: Open) -> None:
    page = visit().go("/endpoints")
    page.click("footer .show-api")
    for name in ("size_model", "train_model", "compare_gpus", "models_for_gpu", "list_gpus"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    page = visit().go("/")
    expect(page.locator("footer .show-api")).to_be_hidden()
