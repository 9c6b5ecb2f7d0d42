"""Parts of the page: bars, tables, cards, errors and frames."""

from __future__ import annotations

import re
from itertools import pairwise

import gradio as gr
import pytest

from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.fit.fit import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import answer, compare, report_of
from gpusizer.ui.page.page_state import ALL_ROWS, PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.beside.bars import bars_html, card_ticks
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.catalogue import COLUMNS as CATALOGUE_COLUMNS
from gpusizer.ui.presenters.choices import PageAnswer
from gpusizer.ui.presenters.examples import welcome_html
from gpusizer.ui.presenters.pieces import frame
from gpusizer.ui.presenters.pieces.errors import error_html
from gpusizer.ui.presenters.pieces.grid import grid_update, grid_value
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tables import (
    RANKING_COLUMNS,
    Usual,
    memory_html,
    ranking_columns,
    ranking_html,
)
from gpusizer.ui.server.reading import RANKED
from gpusizer.usecases.figures.memory import Capacity
from tests.nightly import paired
from tests.pages import ENGLISH, LLAMA, OF_EACH_KIND, Page, cards, cells, column_of, page_markup
from tests.sizers import embedded_sizer


@pytest.fixture(scope="module")
def llama() -> PageAnswer:
    return answer(embedded_sizer(), PageState(LLAMA))


@pytest.mark.parametrize("model, language", paired(OF_EACH_KIND, LANGUAGES))
def test_every_kind_of_model_renders(model: str, language: Language) -> None:
    page = Page(page_markup(embedded_sizer(), model, Words(language)))
    assert model in page.text
    assert not re.search(r"\b(page|note|reason|error|verdict)\.[a-z_]+\b", page.text)
    assert "None" not in page.text


def test_bars_share_one_scale_and_stay_inside_it(llama: PageAnswer) -> None:
    """Widths are shares of the largest high end: a row's parts sum to its total's share."""
    page = Page(bars_html(llama.report, (), ENGLISH))
    rows: list[list[float]] = []
    for _, attributes in page.elements:
        names = (attributes.get("class") or "").split()
        if "gs-bar" in names:
            rows.append([])
        part = {"gs-weights", "gs-kv_cache", "gs-activations", "gs-overhead"} & set(names)
        if part and "style" in attributes:
            width = re.search(r"width:([\d.]+)%", attributes["style"] or "")
            assert width
            rows[-1].append(float(width[1]))
    assert len(rows) >= 8
    assert all(len(row) == 4 for row in rows)
    assert all(sum(row) <= 100.001 for row in rows)
    bf16 = next(r for r in llama.report.estimates if r.estimate.native).estimate.all_gpus
    assert sum(max(rows, key=sum)) == pytest.approx(100 * bf16.total.likely / bf16.total.high, 1e-3)


def test_bars_mark_the_cards_of_the_visitor(llama: PageAnswer) -> None:
    """A card's line is at the end of a bar of its size, with its name above.

    A card far beyond the bars has no line.
    """
    cards_held = (
        Capacity("my card", 12 * GIB),
        Capacity("<b>", 14 * GIB),
        Capacity("far", 900 * GIB),
    )
    markup = bars_html(llama.report, cards_held, ENGLISH)
    bars = [row.estimate.all_gpus.total for row in llama.report.estimates if row.estimate.native]
    place = 100 * 12 * GIB / max(total.high for total in bars)
    lines = re.findall(r'<i class="gs-yours" style="left:([\d.]+)%"', markup)
    assert [float(line) for line in lines[::2]] == [pytest.approx(place, abs=0.01)] * 10
    assert "my card: 12.0 GiB" in markup and "far" not in markup
    assert "<b>:" not in markup and "&lt;b&gt;: 14.0 GiB" in markup


def test_ticks_are_card_sizes_that_do_not_touch() -> None:
    assert card_ticks(20 * GIB) == [2, 4, 8, 12, 16]
    assert card_ticks(700 * GIB)[-1] == 640
    places = [size / 700 for size in card_ticks(700 * GIB)]
    assert all(b - a > 0.07 for a, b in pairwise(places))


def test_tables_list_every_row(llama: PageAnswer) -> None:
    memory = Page(memory_html(llama.report, llama.tiers, ENGLISH))
    body_rows = sum(
        attributes.get("scope") == "row" and "gs-col-quant" in (attributes.get("class") or "")
        for _, attributes in memory.elements
    )
    assert body_rows == len(llama.report.estimates)
    ranked = Page(cells(RANKING_COLUMNS, llama.report.ranking))
    picks = [
        attributes["data-pick"] for _, attributes in ranked.elements if "data-pick" in attributes
    ]
    assert len(picks) == len(llama.report.ranking) == RANKED
    ranking = Page(ranking_html(llama.report, ENGLISH))
    pressed = [
        attributes["data-rank"]
        for _, attributes in ranking.elements
        if attributes.get("aria-pressed") == "true"
    ]
    assert pressed == ["recommended"]


def test_rows_of_a_ranking_tell_what_is_not_said_above(llama: PageAnswer) -> None:
    """The sentence names the usual engine and loss; rows name others, and what may not fit."""
    ranking = llama.report.ranking
    usual = Usual.from_ranking(ranking)
    said = Page(ranking_html(llama.report, ENGLISH)).text
    assert f"{usual.engine}, {ENGLISH.note(Note(f'loss_{usual.loss}'))}" in said
    write = ranking_columns(ranking)[0].write
    for item in ranking:
        text, engine = Page(write(item, ENGLISH)).text, item.fit.estimate.engine.name
        assert item.fit.estimate.quant.name in text
        assert (engine in text) == (engine != usual.engine)
        badge = ENGLISH.verdict(item.fit.verdict.value)
        assert (badge in text) == (item.fit.verdict is not Verdict.FITS)


def test_pictures_have_no_speed_in_tokens(llama: PageAnswer) -> None:
    """Neither in the grid, which Gradio takes with fewer columns, nor side by side."""
    state = PageState.from_query("model=black-forest-labs/FLUX.1-dev&gpus=4090,3060")
    flux = answer(embedded_sizer(), state).report.ranking
    columns, usual = ranking_columns(flux), [column.name for column in RANKING_COLUMNS]
    shown = [column.name for column in columns]
    assert [name for name in usual if name not in shown] == ["speed"]
    assert [name for name in shown if name not in usual] == ["drawn"]
    grid = gr.Dataframe(**grid_update(columns, flux, ENGLISH))
    assert grid.column_count[0] == len(columns) == len(grid.headers)
    assert [column.name for column in ranking_columns(llama.report.ranking)] == usual
    beside = compare(embedded_sizer(), state)
    assert "tok/s" not in Page(side_by_side_html(beside, state.gpus or (), "", ENGLISH)).text
    unasked = answer(embedded_sizer(), PageState("black-forest-labs/FLUX.1-dev"))
    rented = next(item.item for item in unasked.report.alternatives if item.kind == "rent")
    assert rented.drawn is not None
    assert f" {ENGLISH.speed(rented.drawn.likely)} s" in Page(answer_html(unasked, ENGLISH)).text


def test_a_ranking_is_sorted_by_numbers_and_read_in_the_language() -> None:
    columns = {column.name: i for i, column in enumerate(RANKING_COLUMNS)}
    every = report_of(embedded_sizer(), PageState(LLAMA, rows=ALL_ROWS)).ranking
    value = grid_value(RANKING_COLUMNS, every, Words("pt"))
    assert value["headers"][columns["headroom"]] == Words("pt")("column.headroom")
    cell_texts = value["metadata"]["display_value"]
    for item, row, cells_read in zip(every, value["data"], cell_texts, strict=True):
        spare = item.fit.headroom_bytes / GIB
        assert row[columns["headroom"]] == pytest.approx(spare, abs=0.005)
        assert cells_read[columns["headroom"]] == f"{spare:.2f}".replace(".", ",") or spare > 99
        assert item.fit.gpu.slug in row[columns["gpu"]]
    unpriced = [item.costs.buy_usd is None for item in every]
    assert any(unpriced) and not all(unpriced)
    prices = [row[columns["buy"]] for row in value["data"]]
    known_prices = [price for price, unknown in zip(prices, unpriced, strict=True) if not unknown]
    unknown_prices = [price for price, unknown in zip(prices, unpriced, strict=True) if unknown]
    assert min(unknown_prices) > max(known_prices), (
        "the cheapest first means those whose price is known"
    )
    assert {
        row[columns["buy"]]
        for row, is_unpriced in zip(cell_texts, unpriced, strict=True)
        if is_unpriced
    } == {"—"}


@pytest.mark.parametrize(("language", "used"), [("en", "used"), ("zh", "二手"), ("pt", "usada")])
def test_every_price_on_the_page_says_what_it_stands_on(
    llama: PageAnswer, language: Language, used: str
) -> None:
    """Grids, pictures and the summary name the condition, the date and the spread."""
    words = Words(language)
    rtx = next(gpu for gpu in load_catalogue().gpus if gpu.slug == "rtx-3090-24gb")
    column = [column.name for column in CATALOGUE_COLUMNS].index("buy")
    shown = grid_value(CATALOGUE_COLUMNS, [rtx], words)
    cell = shown["metadata"]["display_value"][0][column].replace("\u2011", "-")
    low, high = (words.usd(usd).replace("$", "&#36;") for usd in (990, 1350))
    assert used in cell and "2026-10" in cell and f"{low}–{high}" in cell
    assert shown["data"][0][column] == 1011
    ranked = grid_value(RANKING_COLUMNS, llama.report.ranking, words)
    column = [column.name for column in RANKING_COLUMNS].index("buy")
    for item, row in zip(llama.report.ranking, ranked["metadata"]["display_value"], strict=True):
        assert (row[column] == "—") == (item.costs.buy_usd is None)
        assert item.costs.buy_usd is None or row[column].count("<small>") >= 1


def test_an_empty_grid_has_its_headings() -> None:
    empty = grid_value(CATALOGUE_COLUMNS, (), ENGLISH)
    assert empty["data"] == [] and empty["headers"][0] == "GPU"


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("language", LANGUAGES)
def test_verdicts_are_shown_in_words(verdict: Verdict, language: Language) -> None:
    badge = Page(piece("verdict", Words(language), verdict))
    assert badge.text.strip()
    assert "_" not in badge.text
    assert badge.elements[0][1]["class"] == f"gs-verdict gs-verdict-{verdict.value}"


def test_cards_come_in_the_order_picked_and_can_be_removed() -> None:
    page = cards(("2x4090", "m3 max 128gb", "3070"), LLAMA)
    removes = [
        attributes["data-remove"] for _, attributes in page.elements if "data-remove" in attributes
    ]
    assert removes == ["2x4090", "m3 max 128gb", "3070"]
    assert "2 × GeForce RTX 4090 24GB" in page.text


def test_a_card_shows_totals_for_several_users() -> None:
    assert "First token" in cards(("1x4090",), LLAMA).text
    assert "Full server, in all" not in cards(("1x4090",), LLAMA).text
    state = PageState(LLAMA, {"concurrency": "8"}).picking(("1x4090",))
    comparison = compare(embedded_sizer(), state)
    page = Page(side_by_side_html(comparison, ("1x4090",), "", ENGLISH))
    assert "Your users, in all" in page.text and "8 users; " in page.text
    assert "Full server, in all" in page.text


def test_a_card_that_is_too_small_says_how_much_is_missing() -> None:
    page = cards(("3070",), "deepseek-ai/DeepSeek-R1")
    assert "short" in page.text
    assert "tok/s" not in page.text  # no speed for what does not run
    assert [
        1 for _, attributes in page.elements if "gs-bar-over" in (attributes.get("class") or "")
    ]


def test_a_card_says_what_would_make_it_fit() -> None:
    page = cards(("1x4090",), "meta-llama/Llama-3.3-70B-Instruct")
    assert "What would make it fit" in page.text
    assert "2 of these GPUs instead of 1." in page.text
    assert sum(tag == "ol" for tag, _ in page.elements) == 1
    safe = cards(("h200",), LLAMA)
    assert "What would make it fit" not in safe.text
    assert "131,072 tokens" in safe.text  # the model's longest context
    assert "one request at a time, even at the high end" in safe.text


def test_an_hour_costs_the_same_on_every_part_of_the_page(llama: PageAnswer) -> None:
    """An RTX 4090: between 0.34 and 0.74 USD, 0.51 likely (by hand in test_costs.py)."""
    assert "$0.51/h" in Page(memory_html(llama.report, llama.tiers, ENGLISH)).text
    card = cards(("4090",), LLAMA).text
    assert "$0.51" in card and "$0.34–$0.74 on demand" in card
    card = embedded_sizer().catalogue.find("rtx-4090-24gb")
    assert column_of(CATALOGUE_COLUMNS, "rent").write(card, ENGLISH) == "$0.51"


def test_cards_without_a_model_show_the_hardware() -> None:
    page = cards(("gtx 1050", "h100"), "")
    assert "Bandwidth" in page.text
    assert "unknown" in page.text
    assert "gs-fit" not in str(page.elements)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_code_has_advice(language: Language) -> None:
    def leaves(base: type[GpusizerError]) -> list[type[GpusizerError]]:
        return [base, *(leaf for child in base.__subclasses__() for leaf in leaves(child))]

    fields = {
        "repo_id": "a/b",
        "value": "x",
        "field": "f",
        "reason": "r",
        "revision": "v",
        "file": "p",
        "formats": [],
        "limit": "l",
        "allowed": 1,
        "dtype": "d",
        "retry_after_seconds": 1,
        "seconds": 20,
        "suggestions": [],
    }
    for error in leaves(GpusizerError):
        page = Page(error_html(error(**fields), [LLAMA], Words(language)))  # type: ignore[arg-type]
        assert error.code in page.text


def test_frames_in_every_language() -> None:
    for language in LANGUAGES:
        words = Words(language)
        for markup in (
            frame.header_html(words),
            welcome_html(None, words),
            frame.method_html(words),
            frame.api_html(words),
        ):
            Page(markup)


def test_state_survives_the_address_bar() -> None:
    stated = {"context": "4096", "concurrency": "2", "engine": "vllm"}
    state = PageState("a/b", stated, ("2x4090", "m3 max 128gb"), "fastest")
    assert PageState.from_query(state.query) == state
    assert PageState("a/b").query == "model=a/b"
    assert PageState.from_query("model=a/b&context=&nonsense=1&gpus=") == PageState("a/b", gpus=())
    values = {"model": "a/b", "context": None, "concurrency": 4, "engine": ""}
    assert PageState().stating(values) == PageState("a/b", {"concurrency": "4"})
    for text in ("many", "--5"):
        form = PageState("a/b", {"context": text}).form
        assert (form["model"], form["context"], form["concurrency"]) == ("a/b", "", 1)
    assert PageState("a/b", {"engine": "vLLM"}).form["engine"] == "vllm"
    assert PageState("a/b", {"engine": "warp"}).form["engine"] == "", (
        "no menu shows what it does not offer"
    )
