"""A plot of monthly costs by rate of requests: an API, own servers and rented ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusizer.ui.presenters.charts.lines import End, end_names
from gpusizer.ui.presenters.charts.numbers import heading, numbers_table
from gpusizer.ui.presenters.charts.plot import (
    COLOURS,
    Axis,
    Json,
    Plot,
    band,
    line,
    name,
    specification,
    upright,
)
from gpusizer.ui.presenters.charts.scale import log_ticks
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.monthly_costs import MonthlyCosts

_OFFSET = 18  # pixels from a line's end to a name below it
_ROWS = 6  # each sixth rate is in the table


def month_plot(costs: MonthlyCosts, words: Words) -> Plot:
    """Plot US dollars a month by requests/s, with a band over the prices of providers."""
    title = words("pictures.month.title")
    lead = words("pictures.month.lead", gpus=costs.gpus, providers=words.whole(costs.providers))
    lines = [*_lines(costs, words)]
    lowest = min(costs.api_low[0], *(values[0] for _, values in lines))
    highest = max(costs.api_high[-1], *(values[-1] for _, values in lines))
    x = _axis(words("pictures.axis.rate"), costs.rates[0], costs.rates[-1], words)
    y = _axis(words("pictures.axis.month"), lowest, highest, words)
    spans = [*zip(costs.rates, costs.api_low, costs.api_high, strict=True)]
    rate = words.plain(costs.requests_per_second, 3)
    asked = words("pictures.month.asked", rate=rate)
    layers: list[Json] = [
        band(spans, COLOURS[0]),
        upright(costs.requests_per_second, y),
        name(asked, (costs.requests_per_second, y.last), dx=5, dy=6, is_small=True),
    ]
    colours = COLOURS[: len(lines)]
    for (_, values), colour in zip(lines, colours, strict=True):
        layers.append(line([*zip(costs.rates, values, strict=True)], colour))
    ends = [End(label, costs.rates[-1], values[-1]) for label, values in lines]
    layers += end_names(ends, colours, x, y, offset=_OFFSET)
    columns = {x.title: [words.plain(rate, 3) for rate in costs.rates[::_ROWS]]}
    columns |= {label: [words.usd(usd) for usd in values[::_ROWS]] for label, values in lines}
    described = f"{title}. {lead} " + "; ".join(end.label for end in ends)
    return Plot(
        specification(described, x, y, layers),
        heading(title, lead),
        numbers_table(title, columns, words),
    )


def _lines(costs: MonthlyCosts, words: Words) -> Iterator[tuple[str, Sequence[float]]]:
    yield words("pictures.month.api"), costs.api_median
    if costs.owned is not None:
        yield words("pictures.month.owned"), costs.owned
    if costs.rented is not None:
        yield words("pictures.month.rented"), costs.rented


def _axis(title: str, least: float, most: float, words: Words) -> Axis:
    marks = [(tick, words.plain(tick)) for tick in log_ticks(least, most)]
    return Axis(title, marks, is_log=True)
