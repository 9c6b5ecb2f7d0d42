"""A card in use and one whose machine is too small, by the page's address."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.api.plain_http import ask
from tests.browser.test_page import Open, query, wait_for_answer

MODEL = "Qwen/Qwen3-235B-A22B"
GPUS = "rtx-3090-24gb,8x h100-sxm-80gb"


def test_what_no_memory_holds_is_read_from_the_disk(visit: Open) -> None:
    """The verdict stands between offload and no, with the bound on its speed; a faster disk is in
    the address, and eight large cards need none."""
    window = visit()
    machine = {"ram_gb": 64, "disk_gb_per_s": 3.5}
    page = window.go(f"/?{urlencode({'model': MODEL, 'gpus': GPUS, **machine}, safe='/,')}")
    wait_for_answer(page, MODEL)
    asked = {"model": MODEL, "gpu": "rtx-3090-24gb", "card": "false", **machine}
    place = ask(window.address, "size", asked).json()["ranking"][0]
    (speed,) = (note["message"] for note in place["reasons"] if note["code"] == "disk_speed")
    card = page.locator(".gs-card[data-gpu=rtx-3090-24gb]")
    large = page.locator(".gs-card[data-gpu=h100-sxm-80gb]")
    for width in (1280, 390):
        window.show(width, "light")
        expect(card.locator(".gs-fit")).to_contain_text("pages from disk")
        expect(card.locator(".gs-notes").last).to_contain_text(speed)
        expect(large.locator(".gs-fit")).to_contain_text("fits")
        expect(large).not_to_contain_text("pages from disk")
    assert query(page)["ram_gb"] == ["64"] and query(page)["disk_gb_per_s"] == ["3.5"]
    window.shot("from-disk-390")
