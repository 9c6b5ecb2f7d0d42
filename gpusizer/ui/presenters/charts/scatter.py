"""Prices against speeds: a dot for each GPU, and the line of those nothing cheaper outruns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpusizer.figures.prices import Offer, PriceSpeed
from gpusizer.ui.presenters.charts.frame import figure, key, table
from gpusizer.ui.presenters.charts.scale import Scale, round_up, ticks
from gpusizer.ui.presenters.charts.svg import (
    BADGE,
    Plot,
    at,
    axis_x,
    axis_y,
    badge,
    line,
    marker,
    path,
    svg,
    text_width,
)
from gpusizer.ui.presenters.html import Child, Html, el
from gpusizer.ui.presenters.words import Words

_HEIGHT = 300
_Y_TICKS = 5
_BETWEEN_TICKS = 14
_FEWEST = 2  # of one GPU there is nothing to compare
_BESIDE = (
    (0, 0), (-16, -16), (0, -24), (-24, 0), (-12, -34), (-34, -12), (4, -46), (-30, -40),
    (8, -30), (14, -56), (8, -80),
)  # fmt: skip
"""Where a number may stand, seen from its point: on it, else above the frontier."""

Place = tuple[float, float]


def price_picture(prices: PriceSpeed, words: Words) -> Html | None:
    """One kind of price against speed, from zero; None when hardly any price is known."""
    if len(prices.offers) < _FEWEST:
        return None
    title = words(f"pictures.{prices.kind}.title")
    dearer = sum(offer.price_usd > prices.limit_usd for offer in prices.offers)
    leads = [words("pictures.price.lead")]
    if dearer:
        leads.append(words("pictures.price.dearer", count=words.whole(dearer)))
    return figure(
        prices.kind, title, words("between_sentences").join(leads),
        lambda width, uid: _drawn(width, uid, title, prices, words),
        None, key(list(_key(prices, words))), _table(title, prices, words),
    )  # fmt: skip


def _key(prices: PriceSpeed, words: Words) -> Iterator[tuple[str, str, str | None]]:
    """The numbered ones with price, speed and what runs on them."""
    for number, offer in enumerate(prices.frontier, start=1):
        beyond = words("pictures.beyond") if offer.price_usd > prices.limit_usd else None
        yield str(number), f"{offer.label} · {_facts(offer, prices, words)}", beyond


def _facts(offer: Offer, prices: PriceSpeed, words: Words) -> str:
    price = words.usd(offer.price_usd)
    price = price if prices.kind == "buy" else words("per_hour", price=price)
    return f"{price} · {words('tokens_per_second', speed=words.speed(offer.tokens_per_second))}"


def _drawn(width: int, uid: str, title: str, prices: PriceSpeed, words: Words) -> Html:
    shown = [offer for offer in prices.offers if offer.price_usd <= prices.limit_usd]
    top = round_up(max(offer.tokens_per_second for offer in shown) * 1.02, _Y_TICKS)
    y_ticks = [(tick, words.number(tick, ",g")) for tick in ticks(top, _Y_TICKS)]
    left = 12 + max(text_width(said) for _, said in y_ticks)
    widest = text_width(words.usd(prices.limit_usd))
    area = Plot(left, 34, width - max(28, widest / 2), 34 + _HEIGHT)
    most = max(2, int((area.right - area.left) // max(72, widest + _BETWEEN_TICKS)))
    end = round_up(prices.limit_usd, most)
    x, y = Scale(end, area.left, area.right), Scale(top, area.bottom, area.top)
    pieces: list[Child] = [
        axis_y(area, [(y(tick), said) for tick, said in y_ticks], words("column.speed")),
        axis_x(area, [(x(tick), words.dollars(tick, ",g")) for tick in ticks(end, most)],
               words(f"pictures.axis.{prices.kind}"), grid=True),
    ]  # fmt: skip
    for offer in shown:
        if not offer.frontier:
            pieces.append(_dot(x(offer.price_usd), y(offer.tokens_per_second),
                               f"{offer.label}: {_facts(offer, prices, words)}"))  # fmt: skip
    front = [offer for offer in prices.frontier if offer.price_usd <= prices.limit_usd]
    places = [(x(offer.price_usd), y(offer.tokens_per_second)) for offer in front]
    pieces.append(path(_steps(places, area.right), "gs-line gs-frontier"))
    pieces += _numbered(places, area)
    said = "; ".join(
        f"{number}: {offer.label}, {_facts(offer, prices, words)}"
        for number, offer in enumerate(front, start=1)
    )
    return svg(width, area.bottom + 44, uid, title, said, pieces)


def _dot(x: float, y: float, title: str) -> Html:
    return el("circle", el("title", title), cx=at(x), cy=at(y), r=4, class_="gs-dot")


def _steps(places: Sequence[Place], right: float) -> list[Place]:
    """The best speed for every price: level until the next faster GPU, then up to it."""
    steps = [places[0]]
    for (_, before), (x, y) in pairwise(places):
        steps += [(x, before), (x, y)]
    return [*steps, (right, steps[-1][1])]


def _numbered(places: Sequence[Place], area: Plot) -> Iterator[Html]:
    """A number on every point of the frontier, beside it where it would cover another.

    Above the frontier nothing is drawn, so that is where there is room. Where there is none,
    the point is left as a diamond without its number.
    """
    taken: list[Place] = []
    beside, badges = [], []
    for number, point in enumerate(places, start=1):
        others = [place for place in places if place != point]
        spot = _free_spot(point, others, taken, area)
        if spot != point:
            if spot is not None:
                beside.append(line(*point, *spot, "gs-leader"))
            beside.append(el("g", marker(3, *point), class_="gs-front"))
        if spot is not None:
            taken.append(spot)
            badges.append(badge(*spot, str(number)))
    yield from (*beside, *badges)


def _free_spot(
    point: Place, others: Sequence[Place], taken: Sequence[Place], area: Plot
) -> Place | None:
    """The first place for a badge that touches no other and covers no other point."""
    for dx, dy in _BESIDE:
        x, y = point[0] + dx, point[1] + dy
        inside = x >= area.left + BADGE and y >= area.top - BADGE
        if inside and _clear(x, y, taken, 2 * BADGE) and _clear(x, y, others, BADGE + 4):
            return x, y
    return None


def _clear(x: float, y: float, places: Sequence[Place], distance: float) -> bool:
    return all((x - a) ** 2 + (y - b) ** 2 >= distance**2 for a, b in places)


def _table(title: str, prices: PriceSpeed, words: Words) -> Html:
    column = words("column.buy" if prices.kind == "buy" else "column.rent")
    head = (words("column.gpu"), words("column.quant"), words("column.frontier"), column,
            words("column.speed"))  # fmt: skip
    rows = [
        (offer.label, offer.detail, "✓" if offer.frontier else "", words.usd(offer.price_usd),
         words.speed(offer.tokens_per_second))
        for offer in prices.offers
    ]  # fmt: skip
    return table(title, head, rows, words, texts=3)
