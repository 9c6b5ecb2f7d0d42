"""Values that fill the page's components with the plots of an answer."""

from __future__ import annotations

import json

import gradio as gr
from gradio.components.plot import PlotData

from gpusizer.ui.page.asked import Shown
from gpusizer.ui.presenters.charts.pictures import plots
from gpusizer.ui.presenters.charts.plot import PLOTS, Plot
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.pictures import Pictures


def pictures_shown(pictures: Pictures | None, words: Words) -> Shown:
    """Return values for the column of each of `PLOTS`: markup above, plot, markup below."""
    plots_by_name = {} if pictures is None else plots(pictures, words)
    shown: Shown = {}
    for name in PLOTS:
        shown |= figure_shown(name, plots_by_name.get(name))
    return shown


def figure_shown(name: str, plot: Plot | None) -> Shown:
    """Return the values of a plot's components by their names; without a plot these are hidden."""
    return {f"{name}.{part}": value for part, value in _figure(plot).items()}


def _figure(plot: Plot | None) -> Shown:
    if plot is None:
        hidden = gr.update(visible=False)
        return {"column": hidden, "above": "", "plot": hidden, "below": ""}
    # Gradio's script draws a specification of Altair; the package itself would only write it.
    picture = PlotData(type="altair", plot=json.dumps(plot.spec))
    return {
        "column": gr.update(visible=True),
        "above": plot.above,
        "plot": gr.update(value=picture, visible=True),
        "below": plot.below,
    }
