"""What a card can be started with, checked by and shared as."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.browser.test_page import LLAMA, wait_for_answer
from tests.nightly import some

Open = Callable[..., Visit]
GPU = "h100-sxm-80gb"
CARD = f".gs-gpu-fold[data-gpu={GPU}]"


@pytest.mark.parametrize("width", some([1280, 390], of=2))
def test_a_card_has_its_command_its_check_its_badge_and_files(visit: Open, width: int) -> None:
    window = visit(width)
    page = window.go(f"/?model={LLAMA}&gpus={GPU}&engine=vllm")
    wait_for_answer(page, LLAMA)
    card = page.locator(CARD)
    card.locator(".gs-launch summary").click()
    command = card.locator(".gs-launch code")
    expect(command).to_contain_text("vllm serve meta-llama/Llama-3.1-8B-Instruct")
    expect(command).to_contain_text("--max-model-len 8192")
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
    page.click(".gs-share-fold > summary")
    names, texts = {}, {}
    for kind in ("json", "csv", "memory", "markdown"):
        with page.expect_download() as download:
            page.click(f"[data-share={kind}]")
        names[kind] = download.value.suggested_filename
        texts[kind] = download.value.path().read_text("utf-8")
    assert json.loads(texts["json"])["model"]["parameters"] == 8_030_261_248
    assert texts["markdown"].startswith("## meta\\-llama/Llama\\-3.1\\-8B\\-Instruct")
    assert names["csv"] == "gpusizer-Llama-3.1-8B-Instruct-gpus.csv"
