"""A parser of pages, and shortcuts to rendered parts of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html.parser import HTMLParser
from typing import Any

from gpusizer.text import Language
from gpusizer.ui.page.answering import answer, compare
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.choices import default_gpus
from gpusizer.ui.presenters.facts import facts_html
from gpusizer.ui.presenters.pieces.grid import Column, grid_value
from gpusizer.ui.presenters.pieces.templates import escape
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tables import RANKING_COLUMNS, memory_html, ranking_html
from gpusizer.usecases.sizer import Sizer
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
        if tag not in ("input", "br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data.strip(" ") + " "


def inert(markup: str, also: Collection[str] = ()) -> Page:
    """Return a part of the page, which must do nothing by itself, whatever its texts.

    It has no listeners, and nothing for Gradio or a template to fill in.
    """
    page = Page(markup)
    assert {tag for tag, _ in page.elements} <= SAFE_TAGS.union(also)
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert "${" not in markup and "{{" not in markup
    return page


def hostile_sizer() -> Sizer:
    return Sizer(lambda ref: hostile_snapshot(ref.repo_id), embedded_sizer().catalogue)


def cells(columns: Sequence[Column[Any]], rows: Sequence[Any], words: Words = ENGLISH) -> str:
    """Render a grid as a browser does: markup in columns of type "html", text in others."""
    shown = grid_value(columns, rows, words)["metadata"]["display_value"]
    return "".join(
        f"<p>{cell if column.datatype == 'html' else escape(cell)}</p>"
        for row in shown
        for column, cell in zip(columns, row, strict=True)
    )


def column_of(columns: Sequence[Column[Any]], name: str) -> Column[Any]:
    """Return the column of that name."""
    return next(column for column in columns if column.name == name)


def page_markup(sizer: Sizer, model: str, words: Words) -> str:
    """Return all markup that the page shows about a model."""
    page_answer = answer(sizer, PageState(model))
    state = PageState(model).picking(default_gpus(page_answer.report.ranking))
    return "".join(
        (
            answer_html(page_answer, words),
            facts_html(page_answer.report.profile, words),
            memory_html(page_answer.report, page_answer.tiers, words),
            ranking_html(page_answer.report, words),
            cells(RANKING_COLUMNS, page_answer.report.ranking, words),
            side_by_side_html(compare(sizer, state), state.gpus or (), "", words),
        )
    )


def page_handlers(language: Language = "en") -> Handlers:
    """Return the listeners of a page over the embedded models."""
    sizer = embedded_sizer()
    return Handlers(sizer, lambda token: sizer.fetch, language, ())


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast of two colours."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def cards(gpus: tuple[str, ...], model: str) -> Page:
    state = PageState(model).picking(gpus)
    return Page(side_by_side_html(compare(embedded_sizer(), state), gpus, "", ENGLISH))
