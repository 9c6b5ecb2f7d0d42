"""The visitor's own cards: described or with stated memory, and remembered in the browser."""

from __future__ import annotations

from tests.browser.test_page import LLAMA, Open, wait_for_answer, wait_for_picks

OWN = "4090 (20.5 GB free)"
CUSTOM = "custom:96GB@1800GB/s"


def test_an_own_card_is_remembered_until_it_is_forgotten(visit: Open) -> None:
    """Added by the field, it is offered again without an address that names it; what cannot be
    read, and a card of the catalogue, are not remembered."""
    page = visit().go(f"/?model={LLAMA}&gpus=3070")
    wait_for_answer(page, LLAMA)
    wait_for_picks(page, ["3070"])
    assert page.locator(".gs-own").first.is_hidden()
    for text, picks in ((OWN, ["3070", OWN]), (CUSTOM, ["3070", OWN, CUSTOM])):
        page.fill(".gs-adder input", text)
        page.press(".gs-adder input", "Enter")
        wait_for_picks(page, picks)
    assert "20.5 GB free" in page.inner_text("#gs-cards")
    page.fill(".gs-adder input", "custom:fast")
    page.press(".gs-adder input", "Enter")
    page.wait_for_selector(".gs-message")
    again = page.goto(page.url.split("?")[0] + f"?model={LLAMA}&gpus=3070")
    assert again is not None and again.ok
    wait_for_answer(page, LLAMA)
    wait_for_picks(page, ["3070"])
    page.wait_for_selector("#gs-cards [data-own]")
    offered = page.locator("#gs-cards [data-own]").all_inner_texts()
    assert sorted(offered) == sorted([OWN, CUSTOM])
    page.click(f"#gs-cards [data-forget='{CUSTOM}']")
    page.click(f"#gs-cards [data-own='{OWN}']")
    wait_for_picks(page, ["3070", OWN])
    assert page.locator("#gs-cards [data-own]").all_inner_texts() == [OWN]
