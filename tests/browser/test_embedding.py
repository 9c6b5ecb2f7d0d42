"""The page inside another one, and what a card can be checked by and shared as."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.browser.test_page import LLAMA, query, wait_for_answer
from tests.nightly import some

Open = Callable[..., Visit]
GPU = "h100-sxm-80gb"
CARD = f".gs-gpu-fold[data-gpu={GPU}]"


def test_by_itself_it_has_header_and_footer_and_its_theme_in_any_language(visit: Open) -> None:
    page = visit().go("/?embed=false&__theme=dark")
    expect(page.locator(".gs-header")).to_be_visible()
    expect(page.locator(".gradio-container footer")).to_be_visible()
    page.click(".gs-header nav a[hreflang='pt-BR']")
    page.wait_for_url("**/pt?**")
    assert query(page)["__theme"] == ["dark"]


@pytest.mark.parametrize("width", some([1280, 390], of=2))
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
