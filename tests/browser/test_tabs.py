"""Every tab: opened by its address, answered, without a fault in any language, width or theme."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.frame import JAVASCRIPT_EXAMPLE, ORIGIN
from gpusizer.ui.presenters.words import Words
from tests.browser.axe import serious
from tests.browser.conftest import Held, Visit
from tests.engine_logs import VLLM_V1
from tests.hostile import HOSTILE_MODEL

Open = Callable[..., Visit]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PATHS = {"en": "/", "zh": "/zh", "pt": "/pt"}
TABS = {
    "compare": ("&gpus=4090,h100&model=" + LLAMA, "#gs-compare-cards .gs-card"),
    "train": ("&gpu=4090&method=qlora&model=" + LLAMA, "#gs-training .gs-ranked tbody tr"),
    "reverse": ("&gpu=3090%20%2B%203060%20%2B%2064gb%20ram", "#gs-reverse tbody tr"),
    "catalogue": ("", "#gs-catalogue tbody tr"),
    "know": ("", "#gs-accuracy"),
    "log": ("", "#gs-log-go"),
}


_WHOLE_TABLES = (("catalogue", 1280), ("log", 1280), ("log", 390))
"""Where tables are seen whole, without scrolling them sideways."""


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("theme", "widths"), [("light", (1280, 390)), ("dark", (390, 1280))])
def test_a_tab_by_its_address(
    visit: Open, tab: str, language: Language, theme: str, widths: tuple[int, int]
) -> None:
    """Opened in one width and looked at in both: a phone is turned, a window drawn larger."""
    rest, shown = TABS[tab]
    window = visit(widths[0], theme)
    window.page.goto(
        f"{window.address}{PATHS[language].lstrip('/')}?tab={tab}{rest}&__theme={theme}"
    )
    page = window.page
    page.locator(shown).first.wait_for()
    if tab == "log":
        words = Words(language)
        page.get_by_label(words("log.label")).fill(VLLM_V1)
        page.get_by_label(words("log.gpu")).fill("H100 80GB")
        page.click(shown)
        page.wait_for_selector("#gs-log tbody tr")
    for summary in page.query_selector_all(".gs-details > summary"):
        if summary.is_visible():
            summary.click()
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
        shown_text = page.inner_text("main")
        assert not re.findall(r"\b(?:page|note|error|reason|verdict)\.[a-z_]+", shown_text)
        if (tab, width) in _WHOLE_TABLES:
            scrolled = "b => [...b].map(one => one.scrollWidth - one.clientWidth)"
            assert max(page.eval_on_selector_all(".gs-scroll:visible", scrolled)) <= 0
        window.shot(f"tab-{tab}-{language}-{width}-{theme}")
    if tab == "catalogue":  # 300 rows alike, and axe looks at each
        page.fill("#gs-catalogue input[type=search]", "rtx 40")
    assert serious(page) == []
    assert f"tab={tab}" in page.url


def test_tabs_are_written_into_the_address(visit: Open) -> None:
    page = visit().go("/")
    page.get_by_role("tab", name="GPU catalogue").click()
    page.locator("#gs-catalogue tbody tr").first.wait_for()
    page.wait_for_function("() => location.search.includes('tab=catalogue')")
    page.fill("#gs-catalogue input[type=search]", "rtx 4090")
    visible = page.locator("#gs-catalogue tbody tr:visible")
    expect(visible).not_to_have_count(301)
    assert all("4090" in row.inner_text() for row in visible.all())
    page.fill("#gs-catalogue input[type=search]", "no such card")
    expect(page.locator("#gs-catalogue .gs-empty")).to_be_visible()


def test_a_tab_opened_before_the_address_is_answered_is_written_too(visit: Open) -> None:
    window = visit()
    page = window.page
    asking = Held(page, "**/gradio_api/queue/join*")
    page.goto(window.address)
    tab = page.get_by_role("tab", name="GPU catalogue")
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    assert "tab=" not in page.url
    asking.let_go()
    page.wait_for_function("() => location.search.includes('tab=catalogue')")


def test_a_pasted_log_is_compared(visit: Open) -> None:
    page = visit().go("/")
    page.get_by_role("tab", name="Paste your log").click()
    page.get_by_label("Start-up log").fill(VLLM_V1)
    page.get_by_label("GPU, where the log does not name it").fill("H100 80GB")
    page.click("#gs-log-go")
    page.wait_for_selector("#gs-log tbody tr")
    assert "15.25" in page.inner_text("#gs-log")
    assert "15.25" not in page.url


def test_files_of_an_answer(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    page.wait_for_selector(".gs-share")
    names = {}
    for kind in ("json", "csv", "memory", "markdown"):
        with page.expect_download() as download:
            page.click(f"[data-share={kind}]")
        names[kind] = download.value.suggested_filename
        text = download.value.path().read_text("utf-8")
        if kind == "json":
            assert json.loads(text)["model"]["parameters"] == 8_030_261_248
        if kind == "markdown":
            assert text.startswith("## meta\\-llama/Llama\\-3.1\\-8B\\-Instruct")
    assert names["csv"] == "gpusizer-Llama-3.1-8B-Instruct-gpus.csv"


def test_files_of_a_hostile_answer_run_nothing(visit: Open) -> None:
    page = visit().go(f"/?model={HOSTILE_MODEL}&gpus=4090")
    page.wait_for_selector(".gs-share")
    for kind in ("csv", "memory"):
        with page.expect_download() as download:
            page.click(f"[data-share={kind}]")
        cells = re.split(r"[,\r\n]+", download.value.path().read_text("utf-8"))
        assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "@"))]


def test_a_command_for_a_card(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    page.wait_for_selector(".gs-launch summary")
    page.click(".gs-launch summary")
    command = page.inner_text(".gs-launch code")
    assert command.startswith("vllm serve meta-llama/Llama-3.1-8B-Instruct")
    assert "--max-model-len 8192" in command


def test_the_javascript_example_runs(visit: Open) -> None:
    page = visit().go("/")
    code = JAVASCRIPT_EXAMPLE.replace(ORIGIN, page.evaluate("location.origin"))
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.evaluate(f"async () => {{ {code} }}")
    assert said[0] == "8190735360"
    assert any("rtx-4090-24gb" in line for line in said[1:])


def test_a_visitor_is_told_of_a_page_in_their_language(visit: Open, browser: Any) -> None:
    window = visit()
    context = browser.new_context(locale="pt-BR")
    page = context.new_page()
    page.goto(window.address)
    expect(page.locator("[data-hint=pt]:visible")).to_have_count(1)
    page.locator("#gs-early").wait_for(state="detached")
    hint = page.locator("[data-hint=pt]")
    expect(hint).to_be_visible()
    hint.click()
    page.wait_for_url("**/pt*")
    expect(page.locator("[data-hint]:visible")).to_have_count(0)
    context.close()


def test_a_stranger_finds_shares_and_reads_why(visit: Open) -> None:
    """The cheapest card for a model, a link to it, another language, and the method."""
    page = visit().go("/")
    page.fill("#gs-model input", "Qwen/Qwen3-8B")
    page.press("#gs-model input", "Enter")
    page.wait_for_selector("#gs-ranking")
    page.click("[data-rank=cheapest]")
    page.wait_for_selector("[data-rank=cheapest][aria-pressed=true]")
    first = page.locator("#gs-ranking tbody tr").first
    assert "$" in first.inner_text()
    first.locator("[data-pick]").click()
    page.wait_for_function("() => location.search.includes('rank_by=cheapest')")
    shared = page.url
    page.goto(shared)
    page.wait_for_selector("[data-rank=cheapest][aria-pressed=true]")
    page.click(".gs-header nav a[hreflang='pt-BR']")
    page.wait_for_url("**/pt?**")
    page.wait_for_selector("#gs-ranking")
    page.get_by_role("tab", name="Como sabemos").click()
    page.locator("#gs-accuracy").wait_for()
