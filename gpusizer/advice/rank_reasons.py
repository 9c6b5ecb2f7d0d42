"""Reasons for a place in a ranking, as clauses of one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusizer.advice.policies import free_bytes
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import GB, TERA, significant
from gpusizer.fit.fit import Fit
from gpusizer.fit.platforms import setup_of
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.costs.power import is_card
from gpusizer.gpus.purpose import purpose_of, training_flops
from gpusizer.speed import Rate


def why(
    fit: Fit, pace: Note, costs: PlanCosts, rank_by: str, score: Sequence[Note] = ()
) -> tuple[Note, ...]:
    """Return clauses in order: fit, speed, figure of the order, link between boards.

    `pace` is the speed (`pace_clause`), `score` the conditions of a recommendation that it misses.
    """
    clauses = [_fits(fit)]
    if fit.verdict.all_on_gpu:
        clauses.append(pace)
    facts = [fact(fit, costs) for fact in _FACTS.get(rank_by, ())]
    bought = bought_clauses(costs) if rank_by in _BY_PRICE else ()
    every = (*clauses, *score, *facts, *bought, _scaling(fit))
    return tuple(clause for clause in every if clause is not None)


def why_alternative(
    pace: Sequence[Note],
    costs: PlanCosts,
    rents: bool,
    missed: Sequence[Note],
    break_even_months: float | None = None,
) -> tuple[Note, ...]:
    """Return clauses in order: speed, rent or price, missed conditions, months to break even."""
    prices = (_rented(costs),) if rents else bought_clauses(costs)
    clauses = (*pace, *prices, *missed)
    if break_even_months is None:
        return clauses
    hours = costs.assumptions.hours_per_day
    return *clauses, Note("why_break_even", months=break_even_months, hours=hours)


def pace_clause(
    decode: Rate | None, read: Rate | None, heard: Rate | None, drawn: Rate | None
) -> Note:
    """Return the speed in the unit of its kind of model, or a note that it is unknown.

    Units are tokens that each user sees or that are read, and seconds of sound or of a picture.
    """
    for code, field, rate in (
        ("why_drawn", "seconds", drawn),
        ("why_reads", "tokens", read),
        ("why_hears", "seconds", heard),
        ("why_speed", "tokens", decode),
    ):
        if rate is not None:
            return Note(code, **{field: rate.likely})
    return Note("why_speed_unknown")


def bought_clauses(costs: PlanCosts) -> tuple[Note, ...]:
    """Return clauses of the price to buy with its condition and date, its spread and its age."""
    clauses = (_price(costs), _spread(costs), Note("why_price_old") if costs.buy_is_old else None)
    return tuple(clause for clause in clauses if clause is not None)


def _rented(costs: PlanCosts) -> Note:
    # On demand, with the range of the providers and the date.
    usd, low, high = (costs.rented(f"{name}_usd") for name in ("likely", "low", "high"))
    if costs.rent is None or usd is None or low is None or high is None:
        return Note("why_rent_unknown")
    date = costs.rent.as_of or ""
    count = len(costs.rent.providers)
    if count == 1:
        return Note("why_rent_once", usd=usd, provider=costs.rent.providers[0], date=date)
    return Note("why_rent", usd=usd, low_usd=low, high_usd=high, count=count, date=date)


def _fits(fit: Fit) -> Note:
    config = fit.config
    gb = (config.missing_bytes or abs(config.headroom_bytes)) / GB
    return Note(f"why_{config.verdict_code}", quant=fit.estimate.quant.name, gb=significant(gb))


def _scaling(fit: Fit) -> Note | None:
    # Only for cards that can be combined.
    link = setup_of(fit.gpu, fit.count).link
    if link.kind == "fabric":
        return Note("why_fabric", fabric=link.name)
    if link.kind != "none":
        return Note(f"why_{link.kind}", count=fit.count)
    alone = is_card(fit.gpu) and not fit.gpu.interconnect
    return Note("why_no_fabric") if alone else None


def _price(costs: PlanCosts) -> Note:
    usd = costs.buy_usd
    if costs.buy is None or usd is None:
        return Note("why_price_unknown")
    kind = costs.buy.condition or costs.buy.basis
    return Note(f"why_price_{kind}", usd=usd, date=costs.buy_as_of or "")


def _spread(costs: PlanCosts) -> Note | None:
    # The range of the figures behind the price to buy, if there are several.
    buy = costs.buy
    low, high = (None, None) if buy is None else (buy.low_usd, buy.high_usd)
    if low is None or high is None or low == high:
        return None
    return Note("why_price_spread", low_usd=low * costs.boards, high_usd=high * costs.boards)


def _output(fit: Fit, costs: PlanCosts) -> Note:
    # A million tokens or a thousand pictures.
    if costs.seconds_per_picture is not None:
        usd = costs.lowest_usd_per_thousand_pictures
        return _lowest("per_thousand", usd, costs.usd_per_thousand_pictures)
    return _lowest("per_million", costs.lowest_usd_per_million_tokens, costs.usd_per_million_tokens)


def _per_hour(fit: Fit, costs: PlanCosts) -> Note:
    return _lowest("per_hour", costs.lowest_usd_per_hour, costs.rent_usd_per_hour)


def _lowest(figure: str, usd: float | None, rented: float | None) -> Note:
    if usd is None:
        return Note("why_cost_unknown")
    return Note(f"why_{figure}_rented" if usd == rented else f"why_{figure}_owned", usd=usd)


def _per_dollar(fit: Fit, costs: PlanCosts) -> Note | None:
    if costs.seconds_per_picture is not None:
        return None
    if not costs.buy_usd or not costs.tokens_per_second:
        return Note("why_cost_unknown")
    per_thousand = significant(costs.tokens_per_second / costs.buy_usd * 1000)
    return Note("why_per_dollar", tokens=per_thousand)


def _per_watt(fit: Fit, costs: PlanCosts) -> Note | None:
    watts = costs.running_watts
    if costs.seconds_per_picture is not None:
        return None
    if not watts or not costs.tokens_per_second:
        return Note("why_power_unknown")
    return Note("why_per_watt", joules=significant(watts / costs.tokens_per_second), watts=watts)


def _memory(fit: Fit, costs: PlanCosts) -> Note:
    total = fit.gpu.memory_bytes * fit.count
    return Note("why_memory", gb=significant(total / GB))


def _free(fit: Fit, costs: PlanCosts) -> Note:
    return Note("why_free", gb=significant(free_bytes(fit.gpu, fit.count, fit.estimate) / GB))


def _training(fit: Fit, costs: PlanCosts) -> Note:
    level, rate = purpose_of(fit.gpu).training, training_flops(fit.gpu)
    if level is None or rate is None:
        return Note("why_training_unknown")
    fields: dict[str, NoteValue] = {"tflops": significant(rate / TERA)}
    return Note(f"why_training_{level}", **fields)


def _inference(fit: Fit, costs: PlanCosts) -> Note:
    level = purpose_of(fit.gpu).inference
    return Note(f"why_inference_{level or 'unknown'}")


# Policies whose line states the price to buy.
_BY_PRICE = ("recommended", "cheapest")
# Policy of a ranking -> the figure it sorts by; the line states the speed in any case.
_FACTS: dict[str, tuple[Callable[[Fit, PlanCosts], Note | None], ...]] = {
    "smallest": (_memory,),
    "cheapest_to_run": (_output,),
    "cheapest_per_hour": (_per_hour,),
    "tokens_per_dollar": (_per_dollar,),
    "tokens_per_watt": (_per_watt,),
    "headroom": (_free,),
    "training": (_training,),
    "inference": (_inference, _output),
}
