"""Prices of GPUs, to buy or to rent: cells side by side, cells of a grid, and text."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from gpusizer.gpus import Price
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.purchase import is_old
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.side_table import Cell
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words

_UNBROKEN_HYPHEN = "\u2011"


def price_cell(costs: PlanCosts, words: Words) -> Markup | str:
    """Write the price of all boards of a plan; small print below names its basis."""
    if costs.buy_usd is None:
        return DASH
    return piece("amount", words.usd(costs.buy_usd), _terms(costs, words))


def price_text(costs: PlanCosts, words: Words) -> str:
    """Write the same in one line."""
    if costs.buy_usd is None:
        return DASH
    return f"{words.usd(costs.buy_usd)} ({' · '.join(_terms(costs, words))})"


def buy_cell(costs: PlanCosts, words: Words) -> Cell:
    """Write what all boards cost; the small print is the term.

    Where no price is known, an estimate by similar cards is shown with "≈" and says so.
    """
    price = costs.buy
    if price is None:
        return _similar(costs, words)
    total = words.usd(price.usd * costs.boards)
    shown = words(f"price_{price.condition or price.basis}", price=total)
    each = None
    if costs.boards > 1:
        each = words("spec.boards", count=costs.boards, amount=words.usd(price.usd))
    return Cell(shown, each, (_small_print(price, costs, words),), costs.buy_usd)


def _terms(costs: PlanCosts, words: Words) -> Iterator[str]:
    """Yield condition and date of the price to buy, its spread, and whether it is old."""
    price = costs.buy
    if price is None:
        return
    date_text = _unbroken(costs.buy_as_of or "")
    yield words(f"basis.{price.condition or price.basis}", date=date_text)
    if price.low_usd != price.high_usd:
        yield _range(costs.of_all(price.low_usd), costs.of_all(price.high_usd), words)
    if costs.buy_is_old:
        yield words("price.old")


def _small_print(price: Price, costs: PlanCosts, words: Words) -> str:
    """Say the condition and date of one board's price, the spread, and whether it is old."""
    as_of = price.date or str(costs.buy_year)
    parts = [words(f"basis.{price.condition or price.basis}", date=_unbroken(as_of))]
    if price.basis == "street":
        count = words.whole(len(price.providers))
        parts.append(words("price.spread", spread=_spread(price, words), count=count))
    if price.basis != "own" and is_old(as_of, costs.today):
        parts.append(words("price.old"))
    return " · ".join(parts)


def _similar(costs: PlanCosts, words: Words) -> Cell:
    price = costs.similar
    if price is None:
        return Cell(words("unknown"))
    count = words.whole(len(price.providers))
    text = words("price.similar", spread=_spread(price, words), count=count)
    return Cell(f"≈ {words.usd(price.usd * costs.boards)}", None, (text,))


def _spread(price: Price, words: Words) -> str:
    return _range(price.low_usd, price.high_usd, words)


def _range(low: float | None, high: float | None, words: Words) -> str:
    return "–".join(dict.fromkeys(words.usd(usd) for usd in (low, high) if usd is not None))


def _unbroken(text: str) -> str:
    return text.replace("-", _UNBROKEN_HYPHEN)


def rent_cell(costs: PlanCosts, words: Words) -> Markup | str:
    """Write the likely rent of all boards for an hour; small print has its range and date."""
    usd = costs.rent_usd_per_hour
    if usd is None:
        return DASH
    return piece("amount", words.usd(usd), [rent_terms(costs, words)])


def rent_terms(costs: PlanCosts, words: Words) -> str:
    """Write the range of the providers' prices for all boards, and their date."""
    date = _unbroken(costs.rent.as_of or "") if costs.rent else ""
    asked = _range(costs.rented("low_usd"), costs.rented("high_usd"), words)
    return words("basis.rent", asked=asked, date=date)


def hour_cell(costs: PlanCosts, words: Words) -> Cell:
    """Write the likely rent of all boards for an hour, with the range of the providers' prices."""
    usd, is_own = costs.rent_usd_per_hour, costs.assumptions.gpu_usd_per_hour is not None
    if usd is None:
        return Cell(words("unknown"))
    terms = words("basis.own") if is_own else rent_terms(costs, words)
    return Cell(words.usd(usd), None, (terms,), usd)


def million_cell(costs: PlanCosts, words: Words) -> Cell | None:
    """Write what a million tokens costs on boards of one's own and rented; None without a price."""
    prices = {
        "owned": costs.usd_per_million_tokens_owned,
        "rented": costs.usd_per_million_tokens,
    }
    known = {config: usd for config, usd in prices.items() if usd is not None}
    if not known:
        return None
    configs = (
        words(f"spec.million_{config}", price=_small(usd, words)) for config, usd in known.items()
    )
    least = min(known.values())
    return Cell(_small(least, words), None, (" · ".join(configs),), least)


def break_even_cell(costs: PlanCosts, words: Words) -> Cell | None:
    """Write after how long bought boards cost less than rented ones; None without a price."""
    months, assumed = costs.break_even_months, costs.assumptions
    if costs.cheaper is None:
        return None
    is_owned = costs.cheaper == "own" and months is not None
    return Cell(
        words("spec.break_even_months", months=words.number(months or 0.0, ",.3g"))
        if is_owned
        else words("spec.rent_is_less"),
        None,
        (
            words(
                "spec.break_even_terms",
                hours=words.number(assumed.hours_per_day, "g"),
                years=words.number(assumed.amortisation_years, "g"),
                electricity=words.usd(assumed.usd_per_kwh),
            ),
        ),
    )


def _small(usd: float, words: Words) -> str:
    """Write a price that may be less than a cent."""
    return words.usd(usd) if usd >= 0.1 else words.dollars(usd, ",.2g")
