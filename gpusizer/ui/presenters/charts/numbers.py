"""The frame of a plot: its title and sentence above it, and its numbers as a table below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import el, fold, join
from gpusizer.ui.presenters.pieces.words import Words


def heading(title: str, lead: str) -> Markup:
    """Write a plot's title and a sentence."""
    return el("div", el("h3", title), el("p", lead, class_="gs-small"), class_="gs-section")


def numbers_table(
    title: str, columns: Mapping[str, Iterable[str]], words: Words, texts: int = 1
) -> Markup:
    """Write the numbers of a plot as a folded table: its cells by their headings, of which the
    first `texts` are of texts."""
    classes = [None if i < texts else "gs-number" for i in range(len(columns))]
    heads = [
        el("th", name, scope="col", class_=class_)
        for name, class_ in zip(columns, classes, strict=True)
    ]
    rows = [
        el("tr", el("th", cells[0], scope="row"), *map(_cell, cells[1:], classes[1:]))
        for cells in zip(*columns.values(), strict=True)
    ]
    table = el(
        "table", el("thead", el("tr", join(heads))), el("tbody", join(rows)), aria_label=title
    )
    scrolling = el("div", table, class_="gs-scroll gs-tall", tabindex=0)
    return el("div", fold(words("pictures.numbers"), scrolling), class_="gs-section")


def _cell(text: str, class_: str | None) -> Markup:
    return el("td", text, class_=class_)
