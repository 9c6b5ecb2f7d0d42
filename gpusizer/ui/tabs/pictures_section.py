"""The pictures of an answer, in an accordion; they are drawn when a visitor first unfolds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.ui.handlers import Handlers
from gpusizer.ui.presenters.charts.plot import PLOTS, SCATTERED, TICKS, axes
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs.tab_fields import Listeners, html, query_box

_HEIGHT = 340  # pixels
_WIDTH = 480  # pixels; in a narrower column plots stand below each other


@dataclass(frozen=True, slots=True)
class _Figure:
    """One plot with the markup above and below it."""

    column: gr.Column
    above: gr.HTML
    plot: gr.LinePlot | gr.ScatterPlot
    below: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        return [self.column, self.above, self.plot, self.below]


@dataclass(frozen=True, slots=True)
class PicturesPart:
    """The accordion with the pictures.

    Attributes:
        folded: the accordion.
        drawn: the query whose pictures are drawn, "" before the accordion is first unfolded.
        pictures: the components that the pictures fill.
    """

    folded: gr.Accordion
    drawn: gr.Textbox
    pictures: list[Any]

    def follow(self, query: gr.Textbox, handlers: Handlers, listeners: Listeners) -> None:
        """Draw the pictures when the accordion is unfolded, and from then on for every query."""
        outputs = [self.drawn, *self.pictures]
        self.folded.expand(handlers.draw, [query], outputs, **listeners("draw"))
        changes = [query.change, self.drawn.change]  # the query may change while they are drawn
        gr.on(changes, handlers.redraw, [query, self.drawn], outputs, **listeners("redraw"))


def build(words: Words) -> PicturesPart:
    """Build the accordion, which is invisible until there is an answer."""
    summary = words("pictures.summary")
    folded = gr.Accordion(summary, open=False, visible=False, elem_id="gs-pictures")
    with folded, gr.Row(elem_classes=["gs-figures"]):
        with gr.Column(min_width=_WIDTH):
            memory = html("", "gs-memory-picture-block")
        figures = [_figure(name, words) for name in PLOTS]
    pictures = [memory, *(part for figure in figures for part in figure.outputs)]
    return PicturesPart(folded, query_box("gs-drawn"), pictures)


def _figure(name: str, words: Words) -> _Figure:
    """Build the components of one of `PLOTS`, which are invisible until there is data.

    Gradio's script fetches Vega when the first plot becomes visible. Vega cuts off long names in
    its legend, so that the markup above the plot has a legend of our own.
    """
    labels = axes(name, words)
    kind = gr.ScatterPlot if name in SCATTERED else gr.LinePlot
    with gr.Column(visible=False, min_width=_WIDTH, elem_id=f"gs-{name}-picture") as column:
        above = html("", f"gs-{name}-above")
        plot = kind(
            x="x",
            y="y",
            color=labels.series,
            x_title=labels.x_title,
            y_title=labels.y_title,
            x_axis_format=TICKS,
            y_axis_format="~f",
            tooltip=list(labels.details) or "axis",
            colors_in_legend=[],
            height=_HEIGHT,
            visible=False,
            elem_id=f"gs-{name}-plot",
            elem_classes=["gs-plot"],
        )
        below = html("", f"gs-{name}-below")
    return _Figure(column, above, plot, below)
