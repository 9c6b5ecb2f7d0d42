"""Plot: points that Gradio draws on two axes from zero, and the markup around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from gpusizer.ui.presenters.pieces.html import Html, el
from gpusizer.ui.presenters.pieces.marks import legend
from gpusizer.ui.presenters.pieces.words import Words

PLOTS = ("context", "users-total", "users-per-user", "users-first-token", "buy", "rent")
"""The plots of an answer in the order of the page: four line plots, then two scatter plots."""
SCATTERED = frozenset({"buy", "rent"})
COLOURS = ("#6366f1", "#0d9488", "#d97706", "#db2777", "#0284c7", "#a855f7", "#65a30d")
"""Colours of series, in order. Their contrast is at least 3 to 1 on the light and the dark page."""
MUTED = "#78819a"
TICKS = "^9~f"
"""d3 format of ticks: without marks for thousands, which differ between languages. Each is padded
to nine characters, so that Vega leaves gaps between them."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The titles of a plot's axes and columns, in one language.

    Attributes:
        series: name of the column that says which series a point belongs to.
        details: names of further columns, which tooltips show.
    """

    x_title: str
    y_title: str
    series: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of points.

    Attributes:
        points: columns x and y in the units of the axes, then the columns that its `Axes` name.
        x_top, y_top: ends of the axes; both begin at zero.
        colours: CSS colour of each series.
        above: markup above the plot: title, sentence and legend.
        below: markup below it: key, and the numbers as a table.
    """

    points: pd.DataFrame
    x_top: float
    y_top: float
    colours: Mapping[str, str]
    above: Html
    below: Html


def axes(name: str, words: Words) -> Axes:
    """Return the axes of one of `PLOTS`."""
    gpu, speed = words("column.gpu"), words("column.speed")
    if name == "context":
        return Axes(words("pictures.axis.context"), "GiB", words("pictures.line"))
    if name in SCATTERED:
        details = (gpu, words("column.quant"))
        return Axes(words(f"pictures.axis.{name}"), speed, words("pictures.group"), details)
    measured = words("pictures.axis.first_token") if name == "users-first-token" else speed
    return Axes(words("pictures.axis.users"), measured, gpu)


def heading(title: str, lead: str, named: Iterable[tuple[str, str]]) -> Html:
    """Write a picture's title, a sentence, and its legend of names and colours."""
    items = (
        (el("span", class_="gs-swatch", style=f"background:{colour}"), el("span", name))
        for name, colour in named
    )
    return el(
        "div",
        el("h3", title),
        el("p", lead, class_="gs-small") if lead else None,
        legend(items),
        class_="gs-figure gs-section",
    )
