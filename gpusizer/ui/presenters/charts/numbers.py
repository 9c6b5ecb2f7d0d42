"""The frame of a plot: its title and sentence above it, and its numbers as a table below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words


def heading(title: str, lead: str) -> Markup:
    """Write a plot's title and a sentence."""
    return piece("plot_heading", title, lead)


def numbers_table(
    title: str, columns: Mapping[str, Iterable[str]], words: Words, texts: int = 1
) -> Markup:
    """Write the numbers of a plot as a folded table: its cells by their headings; the first
    `texts` columns are of texts."""
    rows = zip(*columns.values(), strict=True)
    return render("numbers.html", words, title=title, columns=columns, rows=rows, texts=texts)
