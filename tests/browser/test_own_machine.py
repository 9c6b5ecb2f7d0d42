"""The visitor's own machine and prices: they count, are remembered, and stand in the address."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.forms import FORMS, OWN_FIELDS
from gpusizer.ui.page.page_scripts import STORED_MACHINE
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.axe import serious
from tests.browser.test_page import LLAMA, PATHS, Open, query, wait_for_answer
from tests.nightly import paired, some

WIDTHS = (1280, 390)
CARD = "#gs-cards .gs-side"


def field(page: Any, name: str, tab: str = "size", language: Language = "en") -> Any:
    """The field of a tab, which its label names in full."""
    fold = page.locator(f"#gs-{tab}-machine")
    return fold.get_by_label(Words(language)(f"field.{name}.label"))


def unfold(page: Any, tab: str = "size") -> None:
    page.wait_for_function("() => window.gsLoaded")
    page.click(f"#gs-{tab}-machine > button")
    expect(field(page, "used_gb", tab)).to_be_editable()
    # Gradio mounts the fields of a fold when it opens, and gives them their values a frame later
    # (`render_previously_invisible_children`); a visitor types once they stand.
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
        "() => requestIdleCallback(done, {timeout: 10000}))))"
    )


def enter(page: Any, name: str, value: str, tab: str = "size") -> None:
    field(page, name, tab).fill(value)
    field(page, name, tab).press("Enter")
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.search).get(name) === value",
        arg=[name, value],
    )


@pytest.mark.parametrize("width", some(WIDTHS, of=2, start=1))
def test_memory_in_use_and_own_prices_stand_on_the_cards(visit: Open, width: int) -> None:
    window = visit(width)
    page = window.go(f"/?model={LLAMA}&gpus=4090&gpu_usd=1500")
    wait_for_answer(page, LLAMA)
    card = page.locator(CARD)
    expect(field(page, "gpu_usd")).to_have_value("1500")
    expect(field(page, "gpu_usd")).to_be_visible()
    expect(card).to_contain_text("$1,500")
    expect(card).to_contain_text(Words("en")("basis.own"))
    enter(page, "used_gb", "8")
    expect(card).to_contain_text("17.3 GB free")
    enter(page, "gpu_usd_per_hour", "0.25")
    expect(card).to_contain_text("$0.25")
    page.click("#gs-cards .gs-terms > summary")
    before = card.inner_text()
    enter(page, "usd_per_kwh", "0.4")
    expect(card).to_contain_text("$0.40 a kWh")
    assert card.inner_text() != before
    enter(page, "ram_gb", "64")
    assert (query(page)["used_gb"], query(page)["ram_gb"]) == (["8"], ["64"])
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    window.shot(f"own-machine-{width}")


def test_what_is_typed_is_remembered_until_it_is_emptied(visit: Open) -> None:
    window = visit()
    page = window.go("/")
    unfold(page)
    for name, value in (("used_gb", "3.5"), ("gpu_usd", "900")):
        field(page, name).fill(value)
        page.wait_for_function(
            "([key, name, value]) => JSON.parse(localStorage.getItem(key) ?? '{}')[name] === value",
            arg=[STORED_MACHINE, name, float(value)],
        )
    page.goto(window.address)
    expect(field(page, "used_gb")).to_have_value("3.5")
    expect(field(page, "used_gb")).to_be_visible()
    assert query(page) == {"used_gb": ["3.5"], "gpu_usd": ["900"]}
    for name in ("used_gb", "gpu_usd"):
        field(page, name).fill("")
    assert page.evaluate(f"localStorage.getItem('{STORED_MACHINE}')") == "{}"
    page.goto(window.address)
    page.wait_for_function("() => window.gsLoaded")
    assert query(page) == {}
    expect(field(page, "used_gb")).to_be_hidden()


def test_an_address_that_states_a_machine_wins(visit: Open) -> None:
    window = visit()
    window.page.add_init_script(
        f'localStorage.setItem(\'{STORED_MACHINE}\', \'{{"used_gb": 3.5, "ram_gb": "<b>"}}\')'
    )
    page = window.go(f"/?model={LLAMA}&gpus=4090&usable_gb=20")
    wait_for_answer(page, LLAMA)
    assert "used_gb" not in query(page)
    page = window.go(f"/?model={LLAMA}&gpus=4090")
    wait_for_answer(page, LLAMA)
    assert query(page)["used_gb"] == ["3.5"] and "ram_gb" not in query(page)


@pytest.mark.parametrize(("language", "width"), some(paired(LANGUAGES, WIDTHS), of=3, start=1))
def test_every_tab_has_the_fields_that_it_takes(
    visit: Open, language: Language, width: int
) -> None:
    """What is remembered stands in every tab, whose folds are open."""
    window = visit(width, "dark" if language == "zh" else "light")
    window.page.add_init_script(f"localStorage.setItem('{STORED_MACHINE}', '{{\"used_gb\": 2}}')")
    for tab, form in some([*FORMS.items()], of=2):
        page = window.go(f"{PATHS[language]}?tab={tab}")
        for name in form.machine:
            expect(field(page, name, tab, language)).to_be_visible()
        expect(field(page, "used_gb", tab, language)).to_have_value("2")
        expect(page.locator(f"#gs-{tab}-machine input")).to_have_count(len(form.machine))
        expect(page.locator(f"#gs-{tab}-machine")).to_contain_text("nvidia-smi")
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert serious(page) == []
        window.shot(f"own-fields-{tab}-{language}-{width}")


def test_what_is_typed_in_one_tab_stands_in_the_others(visit: Open) -> None:
    page = visit().go("/")
    page.wait_for_function("() => window.gsLoaded")
    for tab in ("reverse", "compare"):  # Gradio builds a tab when it first opens
        page.get_by_role("tab", name=Words("en")(f"tab.{tab}")).click()
        page.locator(f"#gs-{tab}-machine").wait_for()
    unfold(page, "compare")
    field(page, "usable_gb", "compare").fill("20")
    for tab in ("train", "reverse", "size"):
        page.get_by_role("tab", name=Words("en")(f"tab.{tab}")).click()
        expect(field(page, "usable_gb", tab)).to_have_value("20")
        expect(field(page, "usable_gb", tab)).to_be_visible()


IN_USE = [
    ("compare", f"&model={LLAMA}&gpus=4090", CARD.replace("cards", "compare-cards"), "free"),
    ("train", f"&model={LLAMA}&gpu=4090", "#gs-training", "(21.3 GB free)"),
    ("reverse", "&gpu=4090", "#gs-reverse", "free for the model"),
]


@pytest.mark.parametrize(("tab", "question", "answer", "shown"), some(IN_USE, of=3, start=1))
def test_other_tabs_count_the_memory_in_use(
    visit: Open, tab: str, question: str, answer: str, shown: str
) -> None:
    page = visit().go(f"/?tab={tab}{question}&ram_gb=32")
    page.locator(answer).first.wait_for()
    page.wait_for_function("() => window.gsLoaded")
    if tab == "train":  # it does not ask for system memory, so that nothing is set
        unfold(page, tab)
    enter(page, "used_gb", "4", tab)
    expect(page.locator(answer).first).to_contain_text(shown)
    assert query(page)["tab"] == [tab] and query(page)["ram_gb"] == ["32"]


def test_the_machine_is_carried_to_another_question(visit: Open) -> None:
    page = visit().go("/?tab=reverse&gpu=4090&used_gb=4&embed=true&__theme=dark")
    link = page.locator("#gs-reverse-grid [role=gridcell] a").first
    link.focus()
    link.press("Enter")
    page.locator("#gs-answer").wait_for()
    assert query(page)["used_gb"] == ["4"] and query(page)["embed"] == ["true"]
    assert query(page)["__theme"] == ["dark"]
    assert set(query(page)) - set(OWN_FIELDS) == {"model", "gpus", "embed", "__theme"}
