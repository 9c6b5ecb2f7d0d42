"""Plans, a draft model and what a claim is checked by, on one page in both widths."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.api.plain_http import ask
from tests.browser.test_page import Open, wait_for_answer

MODEL = "Qwen/Qwen3-8B"
GPU = "h100-sxm-80gb"
TARGET = {"requests_per_second": 5, "prompt_tokens": 1000, "answer_tokens": 300, "ttft_ms": 500}
DRAFT = {"draft_model": "Qwen/Qwen3-0.6B", "acceptance_rate": 0.7}


def test_a_target_and_a_draft_model_are_answered(visit: Open) -> None:
    """The form shows what the address asks; plan and card say what a program gets."""
    window = visit()
    asked = {"model": MODEL, "engine": "vllm", **TARGET, **DRAFT}
    report = ask(window.address, "size", {**asked, "card": "false"}).json()
    best = report["serving_plan"]["rows"][0]
    page = window.go(f"/?{urlencode({**asked, 'gpus': GPU})}")
    wait_for_answer(page, MODEL)
    expect(page.locator("#gs-requests_per_second input")).to_have_value("5")
    page.click("#gs-advanced button")
    expect(page.locator("#gs-draft_model input")).to_have_value("Qwen/Qwen3-0.6B")
    plan, cards = page.locator("#gs-plan"), page.locator("#gs-cards")
    expect(cards.locator(f"th[data-gpu={GPU}]")).to_have_count(1)
    for width in (1280, 390):
        window.show(width, "light")
        expect(plan.locator("h2")).to_contain_text("5 requests a second")
        row = plan.locator("tbody tr").first
        expect(row.locator(".gs-col-gpu strong")).to_have_text(best["gpu_name"])
        cells = {
            "gpus": str(best["gpus"]["likely"]),
            "replicas": f"{best['replicas']} of {best['gpus_per_replica']}",
            "users": f"room for {best['most_users_per_replica']}",
        }
        for name, text in cells.items():
            expect(row.locator(f".gs-col-plan_{name}")).to_contain_text(text)
        guessed = cards.locator("tr[data-row=guessed] td")
        expect(guessed).to_contain_text("tok/s")
        expect(guessed).to_contain_text("accepted")
        expect(cards.locator("tr[data-row=draft_memory] td")).to_contain_text("GiB")
    window.shot("plan-390")
