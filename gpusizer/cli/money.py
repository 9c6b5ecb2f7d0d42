"""Costs and purposes as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.cli.output import lines_text, padded
from gpusizer.core.units import format_gb
from gpusizer.fit.ranking import Ranked
from gpusizer.gpus import Gpu, Price
from gpusizer.gpus.costs import PlanCosts, RentalQuote
from gpusizer.gpus.purchase import is_old
from gpusizer.gpus.purpose import Criterion, purpose_of
from gpusizer.text import say_note

_MOST_PROVIDERS = 4
_YOURS = "your price"


def money_text(item: Ranked) -> str:
    """Say what the boards of one plan cost, and under which assumptions."""
    costs = item.costs
    lines = [f"{item.fit.count} x {item.fit.gpu.name}: costs", _buy(costs), _rent(costs)]
    lines += [_tokens(costs), _power(costs), _break_even(costs), _loading(item)]
    lines += [f"! {say_note(note)}" for note in costs.notes()]
    return lines_text(f"  {text}" if place else text for place, text in enumerate(lines))


def purposes_text(gpus: Sequence[Gpu]) -> str:
    """Say what each GPU is good for, with every criterion and the figures that decide it."""
    purposes = [purpose_of(gpu) for gpu in gpus]
    sentences = [
        f"{gpu.name}: {' '.join(say_note(note) for note in purpose.notes())}"
        for gpu, purpose in zip(gpus, purposes, strict=True)
    ]
    rows = [
        (f"{row[0].level}: {row[0].name}", f"{row[0].needs:g} {row[0].unit}", *map(_figure, row))
        for row in zip(*(purpose.criteria for purpose in purposes), strict=True)
    ]
    criteria = padded(("criterion", "at least", *(gpu.name for gpu in gpus)), rows)
    return f"{lines_text(sentences)}\n\n{criteria}"


def _figure(criterion: Criterion) -> str:
    return (
        "unknown"
        if criterion.value is None
        else f"{criterion.value:g} {'yes' if criterion.met else 'no'}"
    )


def _buy(costs: PlanCosts) -> str:
    if costs.buy is None:
        return "buy: price unknown"
    if costs.buy_is_own:
        return f"buy: ${costs.buy_usd:,.0f} ({_YOURS})"
    kind = costs.buy.condition or f"{costs.buy.basis} price"
    lines = [
        f"buy: ${costs.buy_usd:,.0f} ({kind}, {costs.buy_as_of}{_stands_on(costs, costs.buy)})"
    ]
    for price in costs.market:
        if price is not costs.buy:
            usd = costs.of_all(price.usd)
            stands_on = _stands_on(costs, price)
            lines.append(f"or ${usd:,.0f} ({price.condition}, {price.date}{stands_on})")
    return "; ".join(lines)


def price_cell(costs: PlanCosts) -> str:
    """Say the price to buy, its spread, condition and date in the cell of a table."""
    buy = costs.buy
    if buy is None:
        return "unknown"
    if costs.buy_is_own:
        return f"{costs.buy_usd:,.0f} ({_YOURS})"
    low, high = costs.of_all(buy.low_usd), costs.of_all(buy.high_usd)
    spread = "" if low is None or high is None or low == high else f"{low:,.0f}-{high:,.0f} "
    old = ", old" if costs.buy_is_old else ""
    weak = ", weak" if costs.buy_is_weak else ""
    kind = buy.condition or buy.basis
    return f"{costs.buy_usd:,.0f} ({spread}{kind} {costs.buy_as_of}{old}{weak})"


def rent_cell(costs: PlanCosts) -> str:
    """Say the likely rent of an hour, the range of the providers and the date."""
    usd, low, high = (costs.rented(f"{name}_usd") for name in ("likely", "low", "high"))
    if costs.rent is None or usd is None:
        return "unknown"
    if costs.rent.own:
        return f"{usd:.2f} ({_YOURS})"
    spread = "" if low is None or high is None or low == high else f"{low:.2f}-{high:.2f} "
    return f"{usd:.2f} ({spread}{costs.rent.as_of})"


_EVIDENCE = {
    "ask": "asking prices",
    "sold": "prices paid",
    "guide": "figures of guides",
    "mixed": "prices asked, paid or of guides",
}


def _stands_on(costs: PlanCosts, price: Price) -> str:
    """The kind of evidence, its spread over how many sources, and age beyond a year."""
    if price.evidence is None:
        return ""
    low, high = costs.of_all(price.low_usd), costs.of_all(price.high_usd)
    text = f"; {_EVIDENCE[price.evidence]}, ${low:,.0f} to ${high:,.0f}"
    text += f", sources: {len(price.providers)}"
    if is_old(price.date, costs.today):
        text += "; more than a year old"
    return text + ("; weak evidence" if price.weak else "")


def _rent(costs: PlanCosts) -> str:
    quote = costs.rent
    if quote is None:
        return "rent: nobody known rents it out"
    if quote.own:
        return f"rent: ${costs.rent_usd_per_hour:.2f}/h ({_YOURS})"
    extra = _other_offers(costs)
    if costs.rent_usd_per_hour is None:
        return f"rent: no list price known{extra} ({quote.as_of})"
    low, high = costs.rented("low_usd"), costs.rented("high_usd")
    likely = f"${costs.rent_usd_per_hour:.2f}/h, ${low:.2f} to ${high:.2f}"
    return f"rent: {likely} ({_providers(quote)}; {quote.as_of}){extra}"


def _other_offers(costs: PlanCosts) -> str:
    markets = (("spot", "spot_usd"), ("marketplace", "marketplace_usd"))
    prices = [(word, costs.rented(name)) for word, name in markets]
    return "".join(f"; {word} from ${usd:.2f}/h" for word, usd in prices if usd is not None)


def _providers(quote: RentalQuote) -> str:
    names = ", ".join(quote.providers[:_MOST_PROVIDERS])
    more = len(quote.providers) - _MOST_PROVIDERS
    return f"{names} and {more} more" if more > 0 else names


def _tokens(costs: PlanCosts) -> str:
    rented = _usd(costs.usd_per_million_tokens)
    return f"a million tokens: {rented} rented, {_usd(costs.usd_per_million_tokens_owned)} owned"


def _power(costs: PlanCosts) -> str:
    if costs.running_watts is None:
        return "power: unknown"
    supply = costs.power_supply_watts
    hint = f"; a supply of {supply} W" if supply else ""
    month, price = costs.electricity_usd_per_month, costs.assumptions.usd_per_kwh
    return (
        f"power: up to {costs.running_watts:,.0f} W with its computer{hint};"
        f" ${month:,.2f} of electricity a month at ${price:g}/kWh"
    )


def _break_even(costs: PlanCosts) -> str:
    assumptions = costs.assumptions
    years = assumptions.amortisation_years
    terms = f"at {assumptions.hours_per_day:g} h/day, written off in {years:g} years"
    if assumptions.host_usd:
        terms += f", ${assumptions.host_usd:,.0f} for the computer"
    if costs.cheaper is None:
        return f"own or rent: unknown ({terms})"
    months = costs.break_even_months
    after = "buying never pays off" if months is None else f"buying pays off after {months} months"
    return f"{costs.cheaper}: {after} ({terms})"


def _loading(item: Ranked) -> str:
    times, assumed = item.load_times, item.assumptions
    return (
        f"loading: {format_gb(times.stored_bytes)} stored in this quantization take at least"
        f" {times.disk_minutes:g} minutes from a disk of {assumed.disk_gb_per_s:g} GB/s,"
        f" {times.download_minutes:g} over a network of {assumed.network_gbit_per_s:g} Gbit/s"
    )


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:g}"
