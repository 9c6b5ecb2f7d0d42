"""The plots of one answer by name."""

from __future__ import annotations

from gpusizer.ui.presenters.charts.lines import along_plot
from gpusizer.ui.presenters.charts.loss import loss_plot
from gpusizer.ui.presenters.charts.month import month_plot
from gpusizer.ui.presenters.charts.plot import Plot
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.pictures import Pictures


def plots(pictures: Pictures, words: Words) -> dict[str, Plot]:
    """Return each of `PLOTS` that has data: memory along the context or speed by users, loss
    against memory, and monthly costs by rate of requests."""
    found = {
        "along": along_plot(pictures, words),
        "loss": loss_plot(pictures.losses, pictures.capacities, words),
        "month": None if pictures.month is None else month_plot(pictures.month, words),
    }
    return {name: plot for name, plot in found.items() if plot is not None}
