"""Reports as CSV and Markdown: the same numbers, and nothing that runs."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.answers.exports import (
    ESTIMATE_COLUMNS,
    RANKING_COLUMNS,
    estimates_csv,
    inert,
    ranking_csv,
)
from gpusizer.answers.report import Report
from gpusizer.core.printable import printable
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.markdown import markdown, plain
from gpusizer.ui.presenters.words import Words
from tests.asking import size
from tests.each import each
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


@pytest.fixture(scope="module")
def report() -> Report:
    return size(SIZER, {"model": "meta-llama/Llama-3.1-8B-Instruct", "top": 30})


def test_the_ranking_as_csv(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(ranking_csv(report.to_json(say_note)))))
    assert tuple(rows[0]) == tuple(RANKING_COLUMNS)
    assert len(rows) == 30
    first_row, item = rows[0], report.ranking[0]
    assert (first_row["gpu"], int(first_row["count"])) == (item.fit.gpu.name, item.fit.count)
    assert int(first_row["headroom_bytes"]) == item.fit.headroom_bytes
    unknown = [row for row in rows if row["buy_usd"] == ""]
    assert len(unknown) == sum(item.buy_usd is None for item in report.ranking)


def test_the_estimates_as_csv(report: Report) -> None:
    rows = {
        row["quant"]: row
        for row in csv.DictReader(io.StringIO(estimates_csv(report.to_json(say_note))))
    }
    assert tuple(rows["bf16"]) == tuple(ESTIMATE_COLUMNS)
    parts = ("weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes")
    bf16 = rows["bf16"]
    assert sum(int(bf16[part]) for part in parts) == int(bf16["total_bytes"])
    assert int(bf16["low_bytes"]) <= int(bf16["total_bytes"]) <= int(bf16["high_bytes"])


def test_a_ranking_without_rows_has_its_columns(report: Report) -> None:
    assert (
        ranking_csv(replace(report, ranking=()).to_json(say_note))
        == ",".join(RANKING_COLUMNS) + "\r\n"
    )


def test_whole_numbers_stay_whole_beside_unknown_ones(report: Report) -> None:
    watts = [
        row["power_watts"]
        for row in csv.DictReader(io.StringIO(ranking_csv(report.to_json(say_note))))
    ]
    expected = [item.power_watts for item in report.ranking]
    assert watts == ["" if value is None else str(value) for value in expected]


@given(st.text(max_size=20))
def test_no_cell_is_a_formula(text: str) -> None:
    cell = inert(text)
    assert isinstance(cell, str)
    assert cell.lstrip("'")[:1] not in {"="} or cell.startswith("'")
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell.endswith(printable(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_summary_in_markdown(report: Report, language: str) -> None:
    text = markdown(report, Words(language), "https://example.org/?model=a/b")
    head, first, weighed, *tables, address = text.strip().split("\n\n")
    assert head == "## meta\\-llama/Llama\\-3.1\\-8B\\-Instruct"
    assert plain(report.ranking[0].fit.gpu.name) in first
    assert len(weighed.splitlines()) == len(report.conclusion.weighed) + 1
    assert Words(language).whole(8_030_261_248) in tables[0]
    assert address == "<https://example.org/?model=a/b>"
    for table in tables[1:]:
        widths = {line.count(" | ") for line in table.splitlines()}
        assert len(widths) == 1, "every row has the cells of its head"
    assert len(tables[2].splitlines()) == 2 + 10


HOSTILE = ["[x](javascript:alert(1))", "<img src=x onerror=1>", "a | b", "![](x)", "`code`", "# h"]


@each("text", HOSTILE)
def test_names_are_escaped_in_markdown(text: str) -> None:
    escaped = plain(text)
    assert "<" not in escaped and "](" not in escaped
    assert all(f"\\{mark}" in escaped for mark in "[]|`#" if mark in text)


def test_line_breaks_in_names_are_removed() -> None:
    assert plain("a\n| b\n# c") == "a \\| b \\# c"
