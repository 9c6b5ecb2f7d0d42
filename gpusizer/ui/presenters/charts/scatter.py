"""Scatter plots of price and speed; the frontier is the GPUs that no cheaper GPU outruns."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from gpusizer.ui.presenters.charts.chart_frame import numbers_table
from gpusizer.ui.presenters.charts.plot import COLOURS, MUTED, Plot, axes, heading
from gpusizer.ui.presenters.charts.scale import round_up
from gpusizer.ui.presenters.pieces.html import Html, bullets, el, join, small
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import price_text
from gpusizer.usecases.figures.speeds import Offer, PriceSpeed

_Y_TICKS = 5
_FEWEST = 2  # points; a single GPU has nothing to compare it with


def price_plot(prices: PriceSpeed, words: Words) -> Plot | None:
    """Plot one kind of price against speed; None with fewer than `_FEWEST` known prices."""
    if len(prices.offers) < _FEWEST:
        return None
    labels = axes(prices.kind, words)
    gpu, quant = labels.details
    frontier, beaten = words("pictures.frontier"), words("pictures.beaten")
    drawn_offers = [offer for offer in prices.offers if offer.price_usd <= prices.limit_usd]
    points = pd.DataFrame(
        [
            (offer.price_usd, offer.tokens_per_second, offer.frontier, offer.label, offer.detail)
            for offer in sorted(drawn_offers, key=lambda offer: offer.frontier)
        ],
        columns=["x", "y", labels.series, gpu, quant],
    )
    points[labels.series] = points[labels.series].map({True: frontier, False: beaten})
    colours = {frontier: COLOURS[3], beaten: MUTED}
    dearer = len(prices.offers) - len(drawn_offers)
    leads = [words("pictures.price.lead")]
    if dearer:
        leads.append(words("pictures.price.dearer", count=words.whole(dearer)))
    title = words(f"pictures.{prices.kind}.title")
    return Plot(
        points.round({"x": 2, "y": 1}),
        prices.limit_usd,
        round_up(points["y"].max() * 1.02, _Y_TICKS),
        colours,
        heading(title, words("between_sentences").join(leads), colours.items()),
        el(
            "div",
            bullets(_frontier(prices, words), "gs-frontier", "ol"),
            _numbers(title, prices, words),
            class_="gs-figure gs-section",
        ),
    )


def _frontier(prices: PriceSpeed, words: Words) -> Iterator[Html]:
    """Write the GPUs that no cheaper GPU outruns, with price and speed."""
    for offer in prices.frontier:
        beyond = words("pictures.beyond") if offer.price_usd > prices.limit_usd else None
        detail = f" ({beyond})" if beyond else None
        yield join((f"{offer.label} · {_facts(offer, prices, words)}", small(detail)))


def _facts(offer: Offer, prices: PriceSpeed, words: Words) -> str:
    price = _price(offer, prices, words)
    price = price if prices.kind == "buy" else words("per_hour", price=price)
    return f"{price} · {words.rate(offer.tokens_per_second)}"


def _price(offer: Offer, prices: PriceSpeed, words: Words) -> str:
    """Write the price; one to buy with what it stands on."""
    if prices.kind == "rent" or offer.costs is None:
        return words.usd(offer.price_usd)
    return price_text(offer.costs, words)


def _numbers(title: str, prices: PriceSpeed, words: Words) -> Html:
    offers = prices.offers
    table = {
        words("column.gpu"): [offer.label for offer in offers],
        words("column.quant"): [offer.detail for offer in offers],
        words("column.frontier"): ["✓" if offer.frontier else "" for offer in offers],
        words(f"column.{prices.kind}"): [_price(offer, prices, words) for offer in offers],
        words("column.speed"): [words.speed(offer.tokens_per_second) for offer in offers],
    }
    return numbers_table(title, table, words, texts=3)
