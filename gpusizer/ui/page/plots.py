"""Values that fill the page's components with the pictures of an answer."""

from __future__ import annotations

import gradio as gr

from gpusizer.core.printable import printable
from gpusizer.ui.page.asked import Shown
from gpusizer.ui.presenters.charts.pictures import memory_html, plots
from gpusizer.ui.presenters.charts.plot import PLOTS, Plot
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.pictures import Pictures


def pictures_shown(pictures: Pictures | None, words: Words) -> Shown:
    """Return values for the picture of memory and, for each of `PLOTS`, the column that it stands
    in, the markup above it, the plot, the markup below."""
    plots_by_name = {} if pictures is None else plots(pictures, words)
    shown: Shown = {"memory": "" if pictures is None else memory_html(pictures, words)}
    for name in PLOTS:
        shown |= {f"{name}.{part}": v for part, v in _figure(plots_by_name.get(name)).items()}
    return shown


def _figure(plot: Plot | None) -> Shown:
    if plot is None:
        hidden = gr.update(visible=False)
        return {"column": hidden, "above": "", "plot": hidden, "below": ""}
    picture = gr.update(
        value=plot.points.map(_as_shown),
        x_lim=[0, plot.x_top],
        y_lim=[0, plot.y_top],
        color_map={printable(series): colour for series, colour in plot.colours.items()},
        visible=True,
    )
    column = gr.update(visible=True)
    return {"column": column, "above": plot.above, "plot": picture, "below": plot.below}


def _as_shown(cell: object) -> object:
    """A cell that Gradio shows as it is."""
    return printable(cell) if isinstance(cell, str) else cell
