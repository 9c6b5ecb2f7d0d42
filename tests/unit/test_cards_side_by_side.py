"""Lines of GPUs side by side stand beside each other by name."""

from __future__ import annotations

import re

import pytest

from gpusizer.answers.request import CompareRequest
from gpusizer.ui.presenters.aligned import aligned
from gpusizer.ui.presenters.cards import cards_html
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words
from tests.sizers import embedded_sizer

GPUS = ("rtx-4090-24gb", "apple-m3-max-128gb", "mi300x-192gb", "rtx-3060-12gb + 64 GB RAM")


def test_a_line_that_one_card_lacks_is_a_dash() -> None:
    first = [("decode", "60", "50–70"), ("rent", "$1", None), ("power", "450 W", None)]
    second = [("decode", "30", None), ("first_token", "2 s", None), ("power", "40 W", None)]
    dash = (DASH, None)
    assert aligned([first, second]) == [
        [first[0], first[1], ("first_token", *dash), first[2]],
        [second[0], ("rent", *dash), second[1], second[2]],
    ]


def test_prices_in_further_conditions_keep_their_places() -> None:
    cards = [
        [("buy", "$1", "new"), ("buy_also", "$2", "used"), ("buy_also", "$3", "msrp")],
        [("buy", "$9", "new"), ("rent", "$4", None)],
    ]
    lines = aligned(cards)
    assert [line[0] for line in lines[0]] == ["buy", "buy_also", "buy_also", "rent"]
    assert [line[1] for line in lines[1]] == ["$9", DASH, DASH, "$4"]


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("Qwen/Qwen3-8B", {"concurrency": 50}),
        ("Qwen/Qwen3-32B", {}),
        ("black-forest-labs/FLUX.1-dev", {}),
        ("", {}),
    ],
)
def test_every_card_of_a_comparison_has_the_same_lines(model: str, fields: dict[str, int]) -> None:
    request = CompareRequest.from_fields({"model": model, "gpus": list(GPUS), **fields})
    comparison = embedded_sizer().compare(request)
    page = cards_html(comparison, GPUS, "", Words("en"))
    cards = page.split("<article")[1:]
    names = [re.findall(r"<dt>(.*?)</dt>", card) for card in cards]
    assert len(names) == len(GPUS) and len(names[0]) > 6
    assert all(card == names[0] for card in names)
    assert f"--gs-lines:{len(names[0])}" in page
