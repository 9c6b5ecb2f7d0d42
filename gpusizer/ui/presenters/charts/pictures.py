"""The pictures of one answer: memory by quantization as SVG, and the plots that Gradio draws."""

from __future__ import annotations

from gpusizer.ui.presenters.charts.curves import context_plot, users_plots
from gpusizer.ui.presenters.charts.loss_scatter import loss_picture
from gpusizer.ui.presenters.charts.plot import Plot
from gpusizer.ui.presenters.charts.scatter import price_plot
from gpusizer.ui.presenters.charts.stacked import memory_picture
from gpusizer.ui.presenters.pieces.html import Html, el, join
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.pictures import Pictures


def memory_html(pictures: Pictures, words: Words) -> Html:
    """Draw memory by quantization, and loss against it; "" where there are no estimates."""
    tokens, users = pictures.context, pictures.concurrency
    context = None if tokens is None else words.whole(tokens)
    drawn = (
        memory_picture(pictures.stacks, pictures.capacities, context, users, words),
        loss_picture(pictures.losses, words),
    )
    return join(el("div", picture, class_="gs-section") for picture in drawn if picture)


def plots(pictures: Pictures, words: Words) -> dict[str, Plot]:
    """Plot memory against context, speed and waits against users, and speed against prices, where
    they are known."""
    context = context_plot(
        pictures.curves, pictures.capacities, pictures.context or 0, pictures.concurrency, words
    )
    users = users_plots(pictures.users, pictures.ttft_seconds, words)
    plots_by_name = {"context": context, **users}
    plots_by_name |= {prices.kind: price_plot(prices, words) for prices in pictures.prices}
    return {name: plot for name, plot in plots_by_name.items() if plot is not None}
