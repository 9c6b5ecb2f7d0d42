"""GPUs side by side: one table, a row for each name, the best of a row bold."""

from __future__ import annotations

import re

import pytest

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import compare
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.beside.side_by_side import PLANS, side_by_side_html
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.side_table import Cell, side_rows
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.requests.request import CompareRequest
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

GPUS = ("rtx-4090-24gb", "apple-m3-max-128gb", "mi300x-192gb", "rtx-3060-12gb + 64 GB RAM")


def rows(page: str) -> dict[str, list[str]]:
    """Return the cells of each row by its name."""
    found = re.findall(r'<tr data-row="(\w+)">(.*?)</tr>', page)
    return {name: re.findall(r"<td>(.*?)</td>", cells) for name, cells in found}


def test_a_row_that_one_column_lacks_is_a_dash_and_the_best_is_bold() -> None:
    columns = [
        {"decode": Cell("60", value=60.0), "rent": Cell("1 USD", value=1.0), "links": Cell("x")},
        {"decode": Cell("30", value=30.0), "first_token": Cell("2 s", value=2.0)},
        {"decode": Cell("60", value=60.0), "rent": Cell("2 USD", "dear", ("of May",), 2.0)},
    ]
    kinds = {"decode": max, "first_token": min, "rent": min, "links": None, "power": min}
    shown = rows("".join(piece("side_row", ENGLISH, row) for row in side_rows(columns, kinds)))
    assert list(shown) == ["decode", "first_token", "rent", "links"], "no row that all lack"
    bold, plain = "<strong>{}</strong>", "<span>{}</span>"
    assert shown["decode"] == [bold.format("60"), plain.format("30"), bold.format("60")]
    assert shown["first_token"] == [plain.format(text) for text in (DASH, "2 s", DASH)]
    assert shown["rent"][:2] == [bold.format("1 USD"), plain.format(DASH)]
    assert shown["rent"][2] == (
        '<span>2 USD</span><small>dear</small><small class="gs-price-term">of May</small>'
    )


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("Qwen/Qwen3-8B", {"concurrency": 50}),
        ("Qwen/Qwen3-32B", {}),
        ("black-forest-labs/FLUX.1-dev", {}),
        ("", {}),
    ],
)
def test_every_row_has_a_cell_for_every_gpu(model: str, fields: dict[str, int]) -> None:
    request = CompareRequest.from_fields({"model": model, "gpus": list(GPUS), **fields})
    comparison = embedded_sizer().compare(request)
    page = side_by_side_html(comparison, GPUS, "", ENGLISH)
    shown = rows(page)
    assert len(shown) > 6 and {len(cells) for cells in shown.values()} == {len(GPUS)}
    assert page.count('scope="col"') == len(GPUS)


def test_one_number_is_the_longest_context() -> None:
    """The conclusion and the shell say the tokens that surely fit, as the row of the limits does;
    the pool's likely tokens are a few more."""
    fields = {"model": "Qwen/Qwen3-32B", "gpus": ["4090"]}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    (cell,) = rows(side_by_side_html(comparison, ("4090",), "", ENGLISH))["max_context"]
    place = comparison.items[0].ranked
    assert place is not None and place.fit.max_context is not None
    said = {note.code: note.fields for note in comparison.conclusion.weighed}
    tokens = said["answer_longest"]["tokens"]
    assert place.fit.max_context > tokens > 8192
    assert f"{tokens:,} tokens" in cell


def test_a_price_of_boards_that_hold_nothing_is_the_best_of_no_row() -> None:
    gpus = ("rtx-4090-24gb", "rtx-5090-32gb", "rtx-3060-12gb")
    request = CompareRequest.from_fields({"model": "Qwen/Qwen3-32B", "gpus": list(gpus)})
    prices = rows(side_by_side_html(embedded_sizer().compare(request), gpus, "", ENGLISH))["buy"]
    assert ["<strong>" in cell for cell in prices] == [True, False, False]


def test_only_totals_of_what_fits_are_bold() -> None:
    """Two RTX 3090 take 700 W and not the least; a card that needs system memory is best in no row,
    and what one GPU has is never bold."""
    gpus = ("rtx-4090-24gb", "2x rtx-3090-24gb", "rtx-3060-12gb + 64 GB RAM")
    request = CompareRequest.from_fields({"model": "google/gemma-3-27b-it", "gpus": list(gpus)})
    shown = rows(side_by_side_html(embedded_sizer().compare(request), gpus, "", ENGLISH))
    bold = {name: ["<strong>" in cell for cell in cells] for name, cells in shown.items()}
    assert bold["power"] == [True, False, False]
    assert "700 W" in shown["power"][1] and "2 × 350 W" in shown["power"][1]
    assert not any(cells[2] for cells in bold.values())
    assert not any(any(bold[name]) for name in ("used", "memory", "bandwidth", "fp16"))
    assert "Assumed: NVLink" in shown["links"][1] and "Assumed" not in shown["links"][0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_quantization_for_all_or_the_best_of_each(language: Language) -> None:
    words, state = Words(language), PageState("Qwen/Qwen3-32B", gpus=("4090", "h200"))
    quants = {}
    for plans in PLANS:
        compared = compare(embedded_sizer(), state, plans=plans)
        page = side_by_side_html(compared, state.gpus or (), "", words, plans=plans)
        quants[plans] = len(set(rows(page)["plan"]))
        pressed = re.findall(r'data-plans="(\w+)" aria-pressed="true"', page)
        assert pressed == [plans] and words(f"plans.{plans}") in page
    assert quants == {"same": 1, "best": 2}
    alone = compare(embedded_sizer(), state.picking(("4090",)))
    assert "data-plans" not in side_by_side_html(alone, ("4090",), "", words)
