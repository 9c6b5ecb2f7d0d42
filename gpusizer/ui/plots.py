"""Values that fill the page's components with the pictures of an answer."""

from __future__ import annotations

import gradio as gr

from gpusizer.answers.figures.pictures import Pictures
from gpusizer.core.printable import printable
from gpusizer.ui.attempts import Outputs
from gpusizer.ui.presenters.charts.pictures import memory_html, plots
from gpusizer.ui.presenters.charts.plot import PLOTS, Plot
from gpusizer.ui.presenters.words import Words

PICTURES = 2 + 4 * len(PLOTS)
"""Number of components that the pictures fill: the query, the memory, and four for each plot."""


def pictures_outputs(pictures: Pictures | None, words: Words) -> Outputs:
    """Return values for the picture of memory and the components of each of `PLOTS`, in order."""
    plots_by_name = {} if pictures is None else plots(pictures, words)
    memory = "" if pictures is None else memory_html(pictures, words)
    return (memory, *(value for name in PLOTS for value in _figure_values(plots_by_name.get(name))))


def _figure_values(plot: Plot | None) -> Outputs:
    """Return values for the column of a plot, the markup above it, the plot, the markup below."""
    if plot is None:
        hidden = gr.update(visible=False)
        return hidden, "", hidden, ""
    picture = gr.update(
        value=plot.points.map(_as_shown),
        x_lim=[0, plot.x_top],
        y_lim=[0, plot.y_top],
        color_map={printable(series): colour for series, colour in plot.colours.items()},
        visible=True,
    )
    return gr.update(visible=True), plot.above, picture, plot.below


def _as_shown(cell: object) -> object:
    """A cell that Gradio shows as it is."""
    return printable(cell) if isinstance(cell, str) else cell
