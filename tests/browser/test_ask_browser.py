"""The button that asks the browser for its GPU, and names that are read from what it tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from gpusizer.core.errors import UnknownGpu
from gpusizer.fit.machine import build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.gpus.catalogue import load_catalogue
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.page_scripts import script_text
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.axe import serious
from tests.browser.test_page import LLAMA, PATHS, Open, query, wait_for_answer

CARDS = UserGpus(load_catalogue())
RTX_3060 = "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002504) Direct3D11 vs_5_0 ps_5_0, D3D11)"
UHD = "ANGLE (Intel, Intel(R) UHD Graphics 630 (0x00003E92) Direct3D11 vs_5_0 ps_5_0, D3D11)"
SOFTWARE = (
    "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)"
)

# By what WebGL tells: the card of the catalogue, the chip whose memory the server asks for, or what
# is said in place of a card.
_LINES = Path(__file__).with_name("renderers.txt").read_text("utf-8").splitlines()
RENDERERS = {text: found for found, text in (line.split("\t") for line in _LINES)}
UNNAMED = {"part", "vague", "software"}


@pytest.fixture(scope="module")
def reader(browser: Any) -> Iterator[Any]:
    """Yield a page without anything but the function that reads names."""
    page = browser.new_page()
    page.add_script_tag(content=script_text("graphics_name"))
    yield page
    page.close()


def read(reader: Any, *texts: object) -> tuple[str, str]:
    found = reader.evaluate("texts => graphicsName(texts)", list(texts))
    return found["kind"], found["name"]


def server_finds(name: str) -> str:
    """Return the card that the server finds for a name, or the name if it asks which is meant."""
    try:
        [gpu] = build_machine(parse_rig(name), CARDS).gpus
    except UnknownGpu as asked:
        suggestions = asked.fields["suggestions"]
        assert suggestions and all(option.startswith(name) for option in suggestions), name
        return name
    return gpu.slug


def test_the_catalogue_finds_the_card_of_a_name(reader: Any) -> None:
    found = {}
    for text in RENDERERS:
        kind, name = read(reader, text)
        found[text] = server_finds(name) if kind == "card" else kind
    assert found == RENDERERS
    assert len([slug for slug in RENDERERS.values() if slug not in UNNAMED]) > 30


def test_graphics_of_a_processor_are_no_card(reader: Any) -> None:
    assert read(reader, UHD) == ("part", "Intel UHD Graphics 630")
    assert not build_machine(parse_rig("Intel UHD Graphics 630"), CARDS).gpus


@pytest.mark.parametrize("text", ["", "  ", "\u202e\u0000", None])
def test_nothing_told_is_said_so(reader: Any, text: object) -> None:
    assert read(reader, text) == ("nothing", "")


def test_the_text_that_names_a_card_counts(reader: Any) -> None:
    assert read(reader, "", RTX_3060, "nvidia ampere") == ("card", "GeForce RTX 3060")
    assert read(reader, None, SOFTWARE, None, "nvidia ampere") == ("vague", "nvidia ampere")
    assert read(reader, "AMD Radeon RX 7900 XTX", RTX_3060) == ("card", "Radeon RX 7900 XTX")


@pytest.mark.parametrize("text", ["GeForce " * 9999, "GeForce RTX 9" + "9" * 9999, "x" * 9999])
def test_a_long_text_is_read_in_bounds(reader: Any, text: str) -> None:
    kind, name = read(reader, text)
    assert kind in ("card", "vague") and len(name) <= 200


def tell(page: Any, renderer: str) -> None:
    """Let the browser tell this of its graphics, and 8 GB of RAM."""
    page.add_init_script(
        "const told = " + repr(renderer) + ";"
        """
        Object.defineProperty(navigator, 'gpu', {value: {
          requestAdapter: async () => ({info: {vendor: '', architecture: '', description: ''}}),
        }});
        Object.defineProperty(navigator, 'deviceMemory', {value: 8});
        HTMLCanvasElement.prototype.getContext = () => ({
          getExtension: name => name === 'WEBGL_debug_renderer_info'
            ? {UNMASKED_RENDERER_WEBGL: 37446} : null,
          getParameter: name => name === 37446 ? told : null,
        });
        """
    )


def ask(page: Any, tab: str = "gs") -> Any:
    """Press the button of a tab by the keyboard; return what is said beside it."""
    page.wait_for_function("() => window.gsLoaded")
    page.locator(f"#{tab}-browser [data-ask]").press("Enter")
    said = page.locator(f"#{tab}-browser [role=status]")
    expect(said).not_to_be_empty()
    return said


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_suggestion_fills_the_field_and_is_answered(visit: Open, width: int, theme: str) -> None:
    window = visit(width, theme)
    tell(window.page, RTX_3060)
    page = window.go("/")
    window.show(width, theme)
    window.shot(f"browser-{width}-before")
    words = Words("en")
    said = ask(page)
    card = words("browser.card", card="GeForce RTX 3060")
    expect(said).to_have_text(f"{card} {words('browser.ram', amount='8')}")
    assert query(page) == {}, "nothing is asked before it is confirmed"
    expect(page.locator("#gs-gpu input")).to_have_value("")
    window.show(width, theme)
    window.shot(f"browser-{width}")
    assert serious(page) == []
    page.keyboard.press("Tab")
    expect(page.locator("#gs-browser [data-use]")).to_be_focused()
    page.keyboard.press("Enter")
    field = page.locator("#gs-gpu input")
    expect(field).to_have_value("GeForce RTX 3060")
    expect(field).to_be_focused()
    expect(said).to_be_hidden()
    page.fill("#gs-model input", LLAMA)
    page.press("#gs-model input", "Enter")
    wait_for_answer(page, LLAMA)
    assert query(page)["gpu"] == ["GeForce RTX 3060"]
    expect(page.locator("#gs-answer h2").first).to_contain_text("RTX 3060")


def test_the_tab_of_models_takes_the_suggestion(visit: Open) -> None:
    window = visit(390)
    tell(window.page, RTX_3060)
    page = window.go("/?tab=reverse")
    page.wait_for_function("() => window.gsLoaded")
    page.click("#gs-reverse-browser [data-ask]")
    page.click("#gs-reverse-browser [data-use]")
    page.press("#gs-reverse-gpu input", "Enter")
    page.wait_for_url("**gpu=GeForce+RTX+3060**")


@pytest.mark.parametrize("asked", ["", f"?model={LLAMA}", f"?model={LLAMA}&concurrency=4"])
def test_the_button_is_below_its_field_beside_the_choices(visit: Open, asked: str) -> None:
    window = visit()
    tell(window.page, RTX_3060)
    page = window.go(f"/{asked}")
    if asked:
        wait_for_answer(page, LLAMA)
    page.wait_for_function("() => window.gsLoaded")
    button, field = page.locator("#gs-browser [data-ask]"), page.locator("#gs-gpu input")
    place, above = button.bounding_box(), field.bounding_box()
    assert abs(place["x"] - above["x"]) < 3 and place["y"] > above["y"] + above["height"]
    button.click()
    page.click("#gs-browser [data-use]")
    expect(field).to_have_value("GeForce RTX 3060")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_browser_without_a_card_says_so(visit: Open, language: Language) -> None:
    window = visit()
    tell(window.page, SOFTWARE)
    page = window.go(PATHS[language])
    expect(ask(page)).to_contain_text(Words(language)("browser.software"))
    expect(page.locator("#gs-browser [data-use]")).to_be_hidden()


def test_a_hostile_renderer_is_text(visit: Open) -> None:
    hostile = "<img src=x onerror=alert(1)> $& CARD " + "y" * 9999
    window = visit(390)
    tell(window.page, hostile)
    page = window.go("/")
    said = ask(page)
    expect(said).to_contain_text(hostile[:200])
    assert said.locator("*").count() == 0 and len(said.inner_text()) < 400
    window.show(390, "light")
