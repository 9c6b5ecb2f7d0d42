"""The page in a real browser: visits in three languages and at two widths."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from gpusizer.core.messages import Note
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.answer import VIEWS
from gpusizer.ui.presenters.pieces.frame import JAVASCRIPT_EXAMPLE, ORIGIN
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.reading import RANKED
from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.hostile import HOSTILE_MODEL
from tests.nightly import paired, some

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PATHS = {"en": "/", "zh": "/zh", "pt": "/pt"}
LOCALES = {"en": "en", "zh": "zh-CN", "pt": "pt-BR"}
Open = Callable[..., Visit]


def wait_for_answer(page: Any, model: str) -> None:
    page.wait_for_function(
        "model => document.querySelector('#gs-answer .gs-eyebrow')?.textContent === model"
        " && document.querySelector('#gs-ranking, #gs-plan') !== null"
        " && document.querySelector('.gs-side') !== null",
        arg=model,
    )


def see(page: Any, view: str) -> None:
    """Open a view below the answer."""
    page.click(f"#gs-answer [data-view={view}]")
    page.wait_for_selector(f".gradio-container[data-view={view}]")


def picked_gpus(page: Any) -> list[str]:
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


def rows_of(page: Any) -> int:
    """Return the rows of the ranking, with that of its headings."""
    return int(page.locator("#gs-ranking-grid [role=grid]").get_attribute("aria-rowcount"))


def wait_for_every_gpu(page: Any) -> None:
    """Wait until the ranking has every GPU that runs the model."""
    page.wait_for_function("new URLSearchParams(location.search).get('rows') === 'all'")
    page.wait_for_function(
        "document.querySelector('#gs-ranking-grid [role=grid]').ariaRowCount > 200"
    )


def query(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_order_pick_add_and_remove_gpus(visit: Open) -> None:
    """A row is picked by the keyboard; a name that is no GPU keeps the cards and says why."""
    page = visit().go(f"/?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    wait_for_picks(page, ["4090"])
    see(page, "ranking")
    first = page.locator("#gs-ranking-grid [role=row][data-index='0']")
    recommended = first.inner_text()
    page.click("[data-rank=fastest]")
    page.wait_for_selector("[data-rank=fastest][aria-pressed=true]")
    expect(first).not_to_have_text(recommended)
    assert rows_of(page) == RANKED + 1, "the first GPUs, below the headings"
    row = page.locator("#gs-ranking-grid [role=row][data-index='0'] [data-pick]")
    row.focus()
    row.press("Enter")
    wait_for_picks(page, ["4090", row.get_attribute("data-pick")])
    page.fill(".gs-adder input", "2x3090")
    page.press(".gs-adder input", "Enter")
    wait_for_picks(page, ["4090", row.get_attribute("data-pick"), "2x3090"])
    assert "2 × GeForce RTX 3090 24GB" in page.inner_text("#gs-cards")
    page.click("[data-remove='4090']")
    picks = [row.get_attribute("data-pick"), "2x3090"]
    wait_for_picks(page, picks)
    page.fill(".gs-adder input", "rtx 4091")
    page.click(".gs-adder button")
    page.wait_for_selector(".gs-message")
    assert "rtx 4091" in page.inner_text(".gs-message")
    assert picked_gpus(page) == picks
    see(page, "ranking")
    page.get_by_label("Search the table").fill("p100")  # is not among the fastest
    expect(first).to_contain_text("P100")


def test_the_page_scrolls_over_the_ranking_until_all_is_asked_for(visit: Open) -> None:
    page = visit(390).go(f"/?model={LLAMA}")
    wait_for_answer(page, LLAMA)
    rows = page.locator("#gs-ranking-grid .virtual-table-viewport")
    page.locator("#gs-ranking-grid [role=gridcell]").first.wait_for()

    rows.hover(position={"x": 40, "y": 60})
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 50)
    page.wait_for_function("before => scrollY !== before", arg=before)
    assert rows.evaluate("rows => rows.scrollTop") == 0
    page.click("#gs-ranking-all button")
    expect(page.locator("#gs-ranking-all")).to_be_hidden()
    rows.evaluate("rows => rows.scrollTo(0, 1000)")
    expect(page.locator("#gs-ranking-grid [role=row][data-index='9']")).to_be_visible()
    wait_for_every_gpu(page)


def test_a_column_sorts_every_gpu(visit: Open) -> None:
    """The cheapest card of all is not among the first, which are recommended."""
    page = visit().go(f"/?model={LLAMA}")
    wait_for_answer(page, LLAMA)
    see(page, "ranking")
    assert rows_of(page) == RANKED + 1
    page.locator("#gs-ranking-grid [role=columnheader]", has_text="Buy").get_by_role(
        "button"
    ).click()
    page.locator(".cell-menu button").first.click()
    wait_for_every_gpu(page)
    first = page.locator("#gs-ranking-grid [role=row][data-index='0'] .gs-rank")
    assert int(first.inner_text()) > RANKED


def test_advanced_fields_change_the_answer(visit: Open) -> None:
    page = visit().go(f"/?model={LLAMA}&context=32768&concurrency=4&gpus=4090")
    wait_for_answer(page, LLAMA)
    assert "32,768" in page.text_content("#gs-answer")
    page.click("#gs-advanced button")
    field = page.get_by_label("Context", exact=True)
    expect(field).to_have_value("32768")  # the value from the address has arrived
    field.fill("4096")
    field.press("Tab")  # a person leaves the field before clicking the button
    expect(field).to_have_value("4096")
    page.click("#gs-go")
    page.wait_for_function(
        "() => document.querySelector('#gs-answer').textContent.includes('4,096')"
    )
    wait_for_picks(page, ["4090"])  # the same model keeps its cards
    assert query(page)["context"] == ["4096"]
    least_speed = page.get_by_label(Words("en")("field.min_tok_s.label"))
    least_speed.fill("60")
    least_speed.press("Enter")
    page.wait_for_function("() => location.search.includes('min_tok_s=60')")
    expect(page.locator("#gs-answer")).to_contain_text("slower than 60 tok/s")


@pytest.mark.parametrize("language", some(LANGUAGES, of=3, start=1))
def test_an_error_is_a_calm_panel(visit: Open, language: str) -> None:
    window = visit()
    page = window.go(PATHS[language])
    page.wait_for_function("() => window.gsLoaded")
    page.fill("#gs-model input", "org/has spaces")
    page.press("#gs-model input", "Enter")
    page.wait_for_selector("#gs-error")
    assert "invalid_model_id" in page.inner_text("#gs-error")
    assert page.input_value("#gs-model input") == "org/has spaces"
    assert page.locator(".toast-body").count() == 0
    window.shot(f"error-{language}")
    page.locator("#gs-error [data-model]").first.click()
    page.wait_for_selector("#gs-ranking")


@pytest.mark.parametrize(
    ("language", "opened"),
    some(paired(LANGUAGES, [(390, "light"), (1280, "dark")]), of=3, start=2),
)
def test_every_page_fits_its_window(
    visit: Open, language: Language, opened: tuple[int, str]
) -> None:
    """The page is opened in one width and checked in both; a user alone is not counted. axe-core
    finds nothing serious in any width or theme."""
    width, theme = opened
    window = visit(width, theme)
    page = window.go(f"{PATHS[language]}?model={LLAMA}&__theme={theme}")
    wait_for_answer(page, LLAMA)
    words = Words(language)
    expect(page).to_have_title(words("document_title"))
    one_user = words.note(Note("answer_planned_one", context=8192))
    expect(page.locator("#gs-answer")).to_contain_text(one_user)
    for part in ("#gs-memory", "#gs-cards"):
        expect(page.locator(part)).to_contain_text(words("at_once.one"))
    page.click("#gs-advanced button")
    assert page.evaluate("document.documentElement.lang") == LOCALES[language]
    for view in VIEWS:
        window.show(*opened)
        see(page, view)
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        text = page.inner_text("main")
        assert "× 1 " not in text
        assert not re.findall(r"\b(?:page|note|error|reason|verdict)\.[a-z_]+", text)
        for turned in (opened, (1280 if width == 390 else 390, theme)):
            window.show(*turned)
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            assert small_texts(page) == []
            window.shot(f"{view}-{language}-{turned[0]}-{theme}")
    see(page, VIEWS[0])
    for turned in product((1280, 390), ("light", "dark")):
        window.show(*turned)
        assert serious(page) == [], turned


MOST_WORDS = 150
HEIGHTS = {1280: 3000, 390: 3500}

SHOWN = """() => {
  const seen = part => part.checkVisibility({visibilityProperty: true});
  const walker = document.createTreeWalker(
    document.querySelector('#gs-answer'), NodeFilter.SHOW_TEXT,
  );
  let words = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement;
    if (!seen(part) || part.closest('.gs-views, .gs-share-fold')) continue;
    words += node.data.trim().split(/\\s+/).filter(Boolean).length;
  }
  return [words, document.documentElement.scrollHeight];
}"""


QUESTIONS = (
    "model=Qwen/Qwen3-8B",
    "model=Qwen/Qwen3-32B&gpus=4090,2x3090,M3 Max 128GB",
    "model=Qwen/Qwen3-32B&requests_per_second=5",
)


@pytest.mark.parametrize("question", some(QUESTIONS, of=3, start=1))
def test_an_answer_is_short_and_on_the_first_screen(visit: Open, question: str) -> None:
    """Everything else is one view away; on a phone the answer begins in the upper half, and the
    first screen holds its figures and the command."""
    window = visit()
    page = window.go(f"/?{question}")
    wait_for_answer(page, question.split("&")[0].removeprefix("model="))
    for width, most in HEIGHTS.items():
        window.show(width, "light")
        top = page.locator("h2.gs-answer").bounding_box()["y"]
        assert top < 450, "of a screen of 844 pixels"
        end = [page.locator(part).bounding_box() for part in (".gs-figures", ".gs-start pre")]
        assert all(box["y"] + min(box["height"], 90) <= 844 for box in end), (width, end)
        for view in VIEWS:
            see(page, view)
            words, height = page.evaluate(SHOWN)
            assert words <= MOST_WORDS and height <= most, (view, width, words, height)


def small_texts(page: Any) -> list[str]:
    """Elements with text of less than 14 pixels."""
    small: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('main *')].filter(e => e.childNodes.length"
        " && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())"
        " && e.getClientRects().length && e.checkVisibility({visibilityProperty: true})"
        " && parseFloat(getComputedStyle(e).fontSize) < 14)"
        ".map(e => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40))"
    )
    return small


def test_a_hostile_repository_runs_nothing(visit: Open) -> None:
    """Neither on the page nor in the files of the answer."""
    page = visit().go(f"/?model={HOSTILE_MODEL}&gpus=4090")
    wait_for_answer(page, HOSTILE_MODEL)
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    assert page.locator("main :is(.gs-section, .gs-grid) :is(img, script)").count() == 0
    see(page, "facts")
    expect(page.locator("#gs-facts")).to_be_visible()
    assert "<script>" in page.inner_text("#gs-facts")
    page.click(".gs-share-fold > summary")
    for kind in ("csv", "memory"):
        with page.expect_download() as download:
            page.click(f"[data-share={kind}]")
        cells = re.split(r"[,\r\n]+", download.value.path().read_text("utf-8"))
        assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "@"))]


def test_endpoints_are_described_and_an_example_runs(visit: Open) -> None:
    window = visit()
    page = window.go("/endpoints")
    page.click("footer .show-api")
    for name in ("size_model", "train_model", "compare_gpus", "models_for_gpu", "list_gpus"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    window.go("/")
    expect(page.locator("footer .show-api")).to_be_hidden()
    code = JAVASCRIPT_EXAMPLE.replace(ORIGIN, page.evaluate("location.origin"))
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.evaluate(f"async () => {{ {code} }}")
    assert messages[0] == "8190735360"
    assert any("rtx-4090-24gb" in line for line in messages[1:])
