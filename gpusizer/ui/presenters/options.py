"""A line for each other choice: cheaper, faster, rented, and cards that people have already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusizer.advice.alternatives import is_priced_by_rent
from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.verdict import whole_bits
from gpusizer.usecases.report import Report

_LINES = {"cheapest": "cheapest", "fastest": "fastest", "at_once": "fewer", "rent": "rent"}
"""Kinds of alternatives that have a line, and the word of it."""


@dataclass(frozen=True, slots=True)
class Option:
    """A choice: its name, boards, and what is known of them."""

    name: str
    boards: str
    facts: str


def other_choices(report: Report, usual: Sequence[Ranked], words: Words) -> tuple[Option, ...]:
    """Return the alternatives to the first place, and the usual cards that hold the model alone."""
    return tuple((*_alternatives(report, words), *_owned(report, usual, words)))


def best_to_buy(report: Report, words: Words) -> tuple[Option, ...]:
    """Return the first place of a ranking of all GPUs as a tip for who has another machine."""
    if not report.ranking:
        return ()
    first = report.ranking[0]
    return (_option(words("option.buy"), first, _price("", first, words), "", words),)


def pace(item: Ranked, words: Words) -> str | None:
    """Write the tokens/s of each user, or the seconds of a picture; None where neither is known."""
    if item.drawn is not None:
        return words("seconds", time=words.speed(item.drawn.likely))
    rate = item.user_rate or item.decode
    return None if rate is None else words.rate(rate.likely)


def _alternatives(report: Report, words: Words) -> Iterator[Option]:
    by_kind = {one.kind: one for one in report.alternatives}
    for kind, name in _LINES.items():
        if kind in by_kind and _is_other(by_kind[kind]):
            item, first = by_kind[kind].item, by_kind[kind].first
            if kind == "cheapest" and not _is_cheaper(item, first):
                name = "cheapest_to_buy"
            known = whole_bits(first.fit.estimate.quant)
            price = _price(kind, item, words)
            yield _option(words(f"option.{name}"), item, price, known, words)


def _is_cheaper(item: Ranked, first: Ranked) -> bool:
    usd, before = item.costs.buy_usd, first.costs.buy_usd
    return usd is not None and before is not None and usd < before


def _is_other(alternative: Alternative) -> bool:
    """Whether the answer does not say it yet: the first place is named with its price to buy."""
    return not alternative.is_first or alternative.kind == "rent"


def _owned(report: Report, usual: Sequence[Ranked], words: Words) -> Iterator[Option]:
    """Yield the usual cards with their speed, in one line."""
    first = report.ranking[0].fit.gpu if report.ranking else None
    found = [item for item in usual if item.fit.gpu != first]
    if found and report.conclusion.kind == "need":
        facts = (f"{_short(item)} {pace(item, words) or ''}".strip() for item in found)
        yield Option(words("option.have"), "", " · ".join(facts))


def _short(item: Ranked) -> str:
    return item.fit.gpu.name.removeprefix("GeForce ")


def _price(kind: str, item: Ranked, words: Words) -> str | None:
    costs = item.costs
    if not is_priced_by_rent(kind, item.fit.gpu, costs):
        return None if costs.buy_usd is None else words.usd(costs.buy_usd)
    usd = costs.rent_usd_per_hour
    if usd is None:
        return None
    hour = words("per_hour", price=words.usd(usd))
    return words("option.from", price=hour) if kind == "rent" else hour


def _option(name: str, item: Ranked, price: str | None, known_bits: str, words: Words) -> Option:
    """Write a choice; its bits only where they are other ones than the reader knows."""
    fit = item.fit
    bits = whole_bits(fit.estimate.quant)
    other = None if bits == known_bits else words("bits", bits=bits)
    facts = filter(None, (price, pace(item, words), other))
    return Option(name, boards_name(fit.gpu, fit.count), " · ".join(facts))
