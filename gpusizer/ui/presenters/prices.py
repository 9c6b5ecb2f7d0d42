"""What GPUs cost, as lines of a card, cells of a grid and text: to buy, or to rent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gpusizer.gpus import Gpu, Price
from gpusizer.gpus.costs import PlanCosts, RentalQuote
from gpusizer.gpus.purchase import is_old
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words

Spec = tuple[str, str, str | None]
"""Name of the line, its value, small print."""
_UNBROKEN_HYPHEN = "\u2011"


def price_cell(costs: PlanCosts, words: Words) -> Html | str:
    """Write the price of all boards of a plan; small print below says what it stands on."""
    if costs.buy_usd is None:
        return DASH
    small_print = [el("small", part) for part in _terms(costs, words)]
    price = el("strong", words.usd(costs.buy_usd))
    return el("div", price, join(small_print), class_="gs-number gs-named")


def price_text(costs: PlanCosts, words: Words) -> str:
    """Write the same in one line."""
    if costs.buy_usd is None:
        return DASH
    return f"{words.usd(costs.buy_usd)} ({' · '.join(_terms(costs, words))})"


def price_specs(gpu: Gpu, today: date, words: Words) -> Iterator[Spec]:
    """Yield the price that counts, then those in other conditions.

    Where no price is known, an estimate by similar cards stands with "≈" and says so.
    """
    price = gpu.buy
    if price is None:
        yield _similar(gpu.similar, words)
        return
    yield "buy", words.usd(price.usd), _small_print(price, gpu.release_year, today, words)
    for other in gpu.market:
        if other is not price:
            small_print = _small_print(other, gpu.release_year, today, words)
            yield "buy_also", words.usd(other.usd), small_print


def _terms(costs: PlanCosts, words: Words) -> Iterator[str]:
    """Yield condition and date of the price to buy, its spread, and whether it is old or weak."""
    price = costs.buy
    if price is None:
        return
    date_text = _unbroken(costs.buy_as_of or "")
    yield words(f"basis.{price.condition or price.basis}", date=date_text)
    if price.evidence is not None and price.low_usd != price.high_usd:
        yield _range(costs.of_all(price.low_usd), costs.of_all(price.high_usd), words)
    if costs.buy_is_old:
        yield words("price.old")
    if costs.buy_is_weak:
        yield words("price.weak")


def _small_print(price: Price, release_year: int, today: date, words: Words) -> str:
    """Say the condition and date, the kind of evidence, the spread, and what is doubtful."""
    as_of = price.date or str(release_year)
    parts = [words(f"basis.{price.condition or price.basis}", date=_unbroken(as_of))]
    if price.evidence is not None:
        parts.append(words(f"price.{price.evidence}"))
        count = words.whole(len(price.providers))
        parts.append(words("price.spread", spread=_spread(price, words), count=count))
    if is_old(as_of, today):
        parts.append(words("price.old"))
    if price.weak:
        parts.append(words("price.weak"))
    return " · ".join(parts)


def _similar(price: Price | None, words: Words) -> Spec:
    if price is None:
        return "buy", words("unknown"), None
    count = words.whole(len(price.providers))
    text = words("price.similar", spread=_spread(price, words), count=count)
    return "buy", f"≈ {words.usd(price.usd)}", text


def _spread(price: Price, words: Words) -> str:
    return _range(price.low_usd, price.high_usd, words)


def _range(low: float | None, high: float | None, words: Words) -> str:
    return "–".join(dict.fromkeys(words.usd(usd) for usd in (low, high) if usd is not None))


def _unbroken(text: str) -> str:
    return text.replace("-", _UNBROKEN_HYPHEN)


def rent_cell(costs: PlanCosts, words: Words) -> Html | str:
    """Write the likely rent of all boards for an hour; small print has its range and date."""
    usd = costs.rent_usd_per_hour
    if usd is None:
        return DASH
    terms = el("small", rent_terms(costs, words))
    return el("div", el("strong", words.usd(usd)), terms, class_="gs-number gs-named")


def rent_terms(costs: PlanCosts, words: Words) -> str:
    """Write the range of the providers' prices for all boards, and their date."""
    date = _unbroken(costs.rent.as_of or "") if costs.rent else ""
    asked = _range(costs.rented("low_usd"), costs.rented("high_usd"), words)
    return words("basis.rent", asked=asked, date=date)


def rent_spec(quote: RentalQuote | None, words: Words) -> Spec:
    """Return the likely price of an hour, and the range of the providers' prices."""
    if quote is None or quote.likely_usd is None:
        return "rent", words("unknown"), None
    date = _unbroken(quote.as_of or "")
    return (
        "rent",
        words.usd(quote.likely_usd),
        words("basis.rent", asked=_range(quote.low_usd, quote.high_usd, words), date=date),
    )


def running_specs(costs: PlanCosts, words: Words) -> Iterator[Spec]:
    """Yield what a million tokens costs, and when bought boards cost less than rented ones.

    Each line is left out where no price is known that it needs.
    """
    assumed = costs.assumptions
    prices = {
        "owned": costs.usd_per_million_tokens_owned,
        "rented": costs.usd_per_million_tokens,
    }
    known = {way: usd for way, usd in prices.items() if usd is not None}
    if known:
        ways = (
            words(f"spec.million_{way}", price=_small(usd, words)) for way, usd in known.items()
        )
        yield "million", _small(min(known.values()), words), " · ".join(ways)
    months = costs.break_even_months
    if costs.cheaper is None:
        return
    is_owned = costs.cheaper == "own" and months is not None
    yield (
        "break_even",
        words("spec.break_even_months", months=words.number(months or 0.0, ",.3g"))
        if is_owned
        else words("spec.rent_is_less"),
        words(
            "spec.break_even_terms",
            hours=words.number(assumed.hours_per_day, "g"),
            years=words.number(assumed.amortisation_years, "g"),
            electricity=words.usd(assumed.usd_per_kwh),
        ),
    )


def _small(usd: float, words: Words) -> str:
    """Write a price that may be less than a cent."""
    return words.usd(usd) if usd >= 0.1 else words.dollars(usd, ",.2g")
