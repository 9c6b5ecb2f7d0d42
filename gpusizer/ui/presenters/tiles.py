"""Tiles: what runs a model, for whoever has named no GPU, and what each precision takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpusizer.advice.alternatives import is_priced_by_rent
from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.fit.losses import quality_at
from gpusizer.ui.presenters.choices import KINDS, Tier
from gpusizer.ui.presenters.pieces.html import Html, defined, el, join
from gpusizer.ui.presenters.pieces.losses import loss_mark
from gpusizer.ui.presenters.pieces.marks import native_chip
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.report import Report

_OFFERED = ("cheapest", "rent")
"""Kinds of alternatives that have a row: what costs least to buy, and to rent."""
_USUAL_CARDS = ("rtx-3060-12gb", "rtx-4090-24gb", "apple-m3-max-128gb")
"""Cards that people have already: a small and a large one of a desktop, and a Mac."""


def ways_to_get_html(report: Report, words: Words) -> Html | None:
    """Write what costs least to buy and to rent, and which of the usual cards run it; None for a
    load, whose conclusion is about all of its users."""
    if report.conclusion.kind != "need" or not report.ranking:
        return None
    offers = {alternative.kind: alternative for alternative in report.alternatives}
    lines = [
        _line(kind, list(_offer(offers[kind], words)), words) for kind in _OFFERED if kind in offers
    ]
    lines.append(_line("own", list(_owned(report, words)), words))
    tile = el("article", el("dl", join(lines)), class_="gs-tile")
    return el("div", tile, class_="gs-tiles", id="gs-ways")


def _line(kind: str, facts: list[Html], words: Words) -> Html:
    shown = join(facts) if facts else words("way.none")
    return defined(words(f"way.{kind}"), shown)


def _offer(alternative: Alternative, words: Words) -> Iterator[Html]:
    """Yield the boards of an alternative, with their speed and what they cost."""
    item = alternative.item
    if is_priced_by_rent(alternative.kind, item.fit.gpu, item.costs):
        usd = item.costs.rent_usd_per_hour
        price = None if usd is None else words("per_hour", price=words.usd(usd))
    else:
        usd = item.costs.buy_usd
        price = None if usd is None else words.usd(usd)
    yield _boards(item, (item.fit.estimate.quant.name, price), words)


def _owned(report: Report, words: Words) -> Iterator[Html]:
    """Yield the usual cards of which one holds the model, with their speed."""
    alone = {item.fit.gpu.slug: item for item in report.ranking if item.fit.count == 1}
    for slug in _USUAL_CARDS:
        if slug in alone:
            yield _boards(alone[slug], (), words)


def _boards(item: Ranked, more: Iterable[str | None], words: Words) -> Html:
    """Write boards, and below them the speed of one user and what is known more."""
    facts = (pace(item, words), *more)
    name = boards_name(item.fit.gpu, item.fit.count)
    return join((el("span", name), el("small", " · ".join(filter(None, facts)))))


def pace(item: Ranked, words: Words) -> str | None:
    """Write the tokens/s of one user, or the seconds of a picture; None where neither is known."""
    if item.drawn is not None:
        return f"{words.speed(item.drawn.likely)} s"
    return None if item.decode is None else words.rate(item.decode.likely)


def tiers_html(tiers: Sequence[Tier], words: Words) -> Html:
    """Write the tiles."""
    return el("div", join(_tile(tier, words) for tier in tiers), class_="gs-tiles")


def _tile(tier: Tier, words: Words) -> Html:
    estimate = tier.row.estimate
    total = estimate.all_gpus.total
    return el(
        "article",
        el(
            "h3",
            words("bits", bits=words.number(estimate.quant.bits, "g")),
            native_chip(estimate, words),
        ),
        el("p", words.amount(total.likely), class_="gs-big"),
        el(
            "p",
            words.amount_band(total),
            " · ",
            estimate.quant.name,
            " · ",
            loss_mark(quality_at(estimate), words),
            class_="gs-small",
        ),
        el("dl", join(_kind(kind, tier.best.get(kind), words) for kind in KINDS)),
        class_="gs-tile",
    )


def _kind(kind: str, item: Ranked | None, words: Words) -> Html:
    """Write a line for a kind of hardware: its smallest boards for a tier, with speed and price."""
    if item is None:
        return defined(words(f"kind.{kind}"), words("tile.none"))
    fit = item.fit
    rent = item.costs.rent_usd_per_hour
    price = None if rent is None else words("per_hour", price=words.usd(rent))
    facts = (fit.estimate.quant.name, pace(item, words), price)
    name = boards_name(fit.gpu, fit.count)
    return defined(words(f"kind.{kind}"), name, " · ".join(filter(None, facts)))
