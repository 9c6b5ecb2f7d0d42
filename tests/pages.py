"""A parser of pages, and shortcuts to rendered parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

from gpusizer.answers.sizer import Sizer
from gpusizer.ui.answering import answer, compare
from gpusizer.ui.choices import default_gpus
from gpusizer.ui.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.grid import Column, grid_value
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.side_by_side import side_by_side_html
from gpusizer.ui.presenters.tables import RANKING_COLUMNS, memory_html, ranking_html
from gpusizer.ui.presenters.words import Words
from tests.hostile import hostile_snapshot
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
OF_EACH_KIND = (
    LLAMA,
    "deepseek-ai/DeepSeek-R1",
    "openai/gpt-oss-20b",
    "BAAI/bge-large-en-v1.5",
    "black-forest-labs/FLUX.1-dev",
)
ENGLISH = Words("en")
_TAG_NAMES = """
a article b button code datalist dd details div dl dt figcaption figure form h1 h2 h3 h4 header i
input li nav ol option p pre section small span strong summary sup table tbody td th thead tr ul
"""


SAFE_TAGS = frozenset(_TAG_NAMES.split())


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every element is closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def hostile_sizer() -> Sizer:
    return Sizer(lambda ref: hostile_snapshot(ref.repo_id), embedded_sizer().catalogue)


def cells(columns: Sequence[Column[Any]], rows: Sequence[Any], words: Words = ENGLISH) -> Html:
    """Render a grid as a browser does: markup in columns of type "html", text in others."""
    shown = grid_value(columns, rows, words)["metadata"]["display_value"]
    return join(
        el("p", Html(cell) if column.datatype == "html" else cell)
        for row in shown
        for column, cell in zip(columns, row, strict=True)
    )


def column_of(columns: Sequence[Column[Any]], name: str) -> Column[Any]:
    """The column of that name."""
    return next(column for column in columns if column.name == name)


def page_markup(sizer: Sizer, model: str, words: Words) -> str:
    """Return all markup that the page shows about a model."""
    page_answer = answer(sizer, PageState(model))
    state = PageState(model).picking(default_gpus(page_answer.report.ranking))
    return join(
        (
            answer_html(page_answer, words),
            facts_html(page_answer.report.profile, words),
            memory_html(page_answer.report, page_answer.tiers, words),
            ranking_html(page_answer.report, words),
            cells(RANKING_COLUMNS, page_answer.report.ranking, words),
            side_by_side_html(compare(sizer, state), state.gpus or (), "", words),
        )
    )


def cards(gpus: tuple[str, ...], model: str) -> Page:
    state = PageState(model).picking(gpus)
    return Page(side_by_side_html(compare(embedded_sizer(), state), gpus, "", ENGLISH))
