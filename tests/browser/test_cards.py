"""Cards side by side: their places, what each is started with, checked by and shared as, and what
stays in sight."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
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
    badge = f"{window.address}v1/badge?model={LLAMA}&gpu=1x{GPU}"
    picture = f"https://img.shields.io/endpoint?url={quote(badge, safe='')}"
    expect(card.locator(".gs-badge code")).to_contain_text(
        f"[![gpusizer]({picture})]({window.address}?model={LLAMA}&gpus=1x{GPU})"
    )
    expect(card.locator(".gs-badge img")).to_have_count(0)  # the page asks no other site
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert serious(page) == []
    assert page.request.get(badge).json()["color"] == "brightgreen"
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


def test_the_names_of_rows_stay_in_sight_and_commands_scroll(visit: Open) -> None:
    """At 390 two GPUs stand beside the names, which stay where the others are pushed to."""
    gpus = "4090,3060%20%2B%2064%20GB%20RAM,Mac%20Studio%20128%20GB,MI300X"
    window = visit()
    page = window.go(f"?tab=compare&model=Qwen/Qwen3-8B&gpus={gpus}")
    page.locator("#gs-compare-cards .gs-side").first.wait_for()
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for width, whole in ((1280, 4), (390, 2)):
        window.show(width, "light")
        table = page.evaluate(
            """() => {
              const box = document.querySelector('#gs-compare-cards .gs-scroll');
              const edge = box.getBoundingClientRect();
              const right = e => e.getBoundingClientRect().right;
              const heads = [...box.querySelectorAll('th[data-gpu]')];
              const whole = heads.filter(e => right(e) <= edge.right + 1).length;
              box.scrollLeft = 1e4;
              const name = box.querySelector('th[scope=row]').getBoundingClientRect().left;
              const last = right(heads.at(-1)) <= edge.right + 1;
              box.scrollLeft = 0;
              return [whole, Math.round(name - edge.left) <= 1, last];
            }"""
        )
        assert table == [whole, True, True]
        ways = page.evaluate(
            """() => [...document.querySelectorAll('#gs-compare-cards .gs-launch pre')].map(e => {
              e.scrollLeft = 1e4;
              const end = e.scrollLeft + e.clientWidth >= e.scrollWidth - 1;
              const inside = e.getBoundingClientRect().right <= innerWidth;
              return [getComputedStyle(e).overflowX, end, inside];
            })"""
        )
        assert len(ways) == 4
        assert all(way == ["scroll", True, True] for way in ways)
