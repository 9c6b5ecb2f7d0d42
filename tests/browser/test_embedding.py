"""The page inside another one, and what a card can be checked by and shared as."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.browser.test_page import LLAMA, wait_for_answer

Open = Callable[..., Visit]
GPU = "h100-sxm-80gb"
CARD = f".gs-card[data-gpu={GPU}]"


def test_in_a_frame_it_has_neither_header_nor_footer(visit: Open) -> None:
    page = visit().go(f"/zh?embed=true&__theme=dark&model={LLAMA}&gpus=rtx-4090-24gb")
    wait_for_answer(page, LLAMA)
    expect(page.locator(".gs-header")).to_be_hidden()
    expect(page.locator(".gradio-container footer")).to_be_hidden()
    expect(page.locator("body")).to_have_class("dark")


def test_by_itself_it_has_both(visit: Open) -> None:
    page = visit().go("/?embed=false")
    expect(page.locator(".gs-header")).to_be_visible()
    expect(page.locator(".gradio-container footer")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_card_has_its_check_and_its_badge(visit: Open, width: int) -> None:
    window = visit(width)
    page = window.go(f"/?model={LLAMA}&gpus={GPU}&engine=vllm")
    wait_for_answer(page, LLAMA)
    card = page.locator(CARD)
    card.locator(".gs-benchmark summary").click()
    expect(card.locator(".gs-benchmark code")).to_contain_text("vllm bench serve")
    source = card.locator(".gs-published a").first
    assert str(source.get_attribute("href")).startswith("https://")
    card.locator(".gs-badge summary").click()
    picture = f"{window.address}badge?model={LLAMA}&gpu=1x{GPU}"
    expect(card.locator(".gs-badge code")).to_contain_text(f"[![gpusizer]({picture})]")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert serious(page) == []
    answer = page.request.get(urljoin(window.address, picture))
    assert answer.ok and answer.headers["content-type"] == "image/svg+xml"
    window.shot(f"card-checked-{width}")
