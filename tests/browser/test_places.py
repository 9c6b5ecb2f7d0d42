"""Places side by side that the page filled give way to what a visitor picks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_no_input_lost import enter
from tests.browser.test_page import LLAMA, Open, picked_gpus, query, wait_for_answer, wait_for_picks
from tests.nightly import some


@pytest.mark.parametrize("width", some([1280, 390], of=2, start=1))
def test_a_gpu_of_the_ranking_and_an_own_card_find_a_place(visit: Open, width: int) -> None:
    page = visit(width).go("/")
    enter(page, "#gs-model", LLAMA)
    wait_for_answer(page, LLAMA)
    filled = picked_gpus(page)
    assert len(filled) == 4
    row = page.locator("#gs-ranking-grid [role=row][data-index='1'] [data-pick]")
    picked = str(row.get_attribute("data-pick"))
    assert picked not in filled
    row.click()
    wait_for_picks(page, [filled[0], *filled[2:], picked])
    enter(page, ".gs-adder", "2x3090")
    wait_for_picks(page, [filled[0], filled[3], picked, "2x3090"])
    expect(page.locator(".gs-message")).to_have_count(0)
    assert query(page)["filled"] == ["2"]
    page.reload()
    wait_for_answer(page, LLAMA)
    enter(page, ".gs-adder", "3070, h100")
    wait_for_picks(page, [picked, "2x3090", "3070", "h100"])
    enter(page, ".gs-adder", "l40s")
    expect(page.locator(".gs-message")).to_be_visible()
    assert picked_gpus(page) == [picked, "2x3090", "3070", "h100"], "all four are the visitor's"


def test_a_visitor_chooses_one_quantization_or_the_best_of_each(visit: Open) -> None:
    """The choice changes the table alone, stands in the address, and holds in the next visit."""
    page = visit().go("/?tab=compare&model=Qwen/Qwen3-32B&gpus=4090,h200")
    plans = page.locator("#gs-cards tr[data-row=plan] td")
    expect(plans).to_have_count(2)
    assert len(set(plans.all_inner_texts())) == 1
    page.click("[data-plans=best]")
    page.wait_for_selector("[data-plans=best][aria-pressed=true]")
    page.wait_for_function("() => location.search.includes('plans=best')")
    each = plans.all_inner_texts()
    assert len(set(each)) == 2 and picked_gpus(page) == ["4090", "h200"]
    page.reload()
    page.wait_for_selector("[data-plans=best][aria-pressed=true]")
    assert plans.all_inner_texts() == each
