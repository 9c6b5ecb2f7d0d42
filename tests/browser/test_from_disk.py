"""A card in use and one whose machine is too small, by the page's address."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.api.plain_http import ask
from tests.browser.test_page import Open, query, wait_for_answer

MODEL = "Qwen/Qwen3-235B-A22B"
OWN = "4090 (20.5 GB free)"
CUSTOM = "custom:300GB@1800GB/s@5000USD"
GPUS = ("rtx-3090-24gb", OWN, CUSTOM, "8x h100-sxm-80gb")


def test_what_no_memory_holds_is_read_from_the_disk(visit: Open) -> None:
    """The verdict stands between offload and no, with the bound on its speed; a card in use, one
    that is described with a price, and eight large ones stand beside it."""
    window = visit()
    machine = {"ram_gb": 64, "disk_gb_per_s": 3.5}
    page = window.go(f"/?{urlencode({'model': MODEL, 'gpus': ','.join(GPUS), **machine})}")
    wait_for_answer(page, MODEL)
    asked = {"model": MODEL, "gpu": "rtx-3090-24gb", "card": "false", **machine}
    place = ask(window.address, "size", asked).json()["ranking"][0]
    (speed,) = (note["message"] for note in place["reasons"] if note["code"] == "disk_speed")
    heads = page.locator("#gs-cards th[data-gpu]")
    expect(heads).to_have_count(4)
    verdicts, memory, prices = (
        page.locator(f"#gs-cards tr[data-row={name}] td") for name in ("verdict", "used", "buy")
    )
    page.locator(".gs-gpu-fold summary").first.click()
    for width in (1280, 390):
        window.show(width, "light")
        expect(verdicts.nth(0)).to_contain_text("pages from disk", ignore_case=True)
        expect(heads.nth(1)).to_contain_text("GeForce RTX 4090 24GB (20.5 GB free) + 64 GB RAM")
        expect(memory.nth(1)).to_contain_text("of 19.1 GiB")
        expect(verdicts.nth(2)).to_contain_text("fits", ignore_case=True)
        expect(prices.nth(2)).to_contain_text("$5,000")
        expect(prices.nth(2)).to_contain_text("your price")
        expect(page.locator(".gs-gpu-fold").first.locator(".gs-notes").last).to_contain_text(speed)
        expect(verdicts.nth(3)).to_contain_text("fits", ignore_case=True)
        expect(heads.nth(3)).to_contain_text("8 × H100")
    assert query(page)["ram_gb"] == ["64"] and query(page)["disk_gb_per_s"] == ["3.5"]
    window.shot("from-disk-390")
