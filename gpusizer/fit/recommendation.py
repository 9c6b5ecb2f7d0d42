"""The recommendation: who asks, six conditions in their order of weight, then value.

    audience   offered to who asks (`gpusizer/fit/audience.toml`), then what may stand beside that
    room       surely fits, with at least a tenth of each card to spare
    support    the vendor's software has not left the architecture behind
    evidence   such cards were measured; the low end of the band is near, and as fast as asked for
    on_offer   sold or commonly rented out today
    speed      tokens/s for each user as asked for, or as fast as one reads
    computer   goes into one ordinary computer, is one, or is rented with one
    value      US dollars for an hour of work, rented or owned, whichever is less, for each token
               a second at the low end; for pictures, where the time is known, those for a thousand

A card that misses an earlier condition comes after all that meet it, however cheap it is. Nothing
is weighed against anything else. docs/recommendation.md says what each stands on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from gpusizer.core.messages import Note
from gpusizer.core.units import significant
from gpusizer.fit.audience import Suitability
from gpusizer.fit.platforms import SERVER_BOARDS
from gpusizer.fit.standing import SPARE_SHARE, has_room
from gpusizer.fit.user_speed import SpeedEvidence
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.gpus.costs.power import is_card, is_whole_computer
from gpusizer.gpus.on_offer import (
    EndedSupport,
    ended_support,
    firm_price,
    is_rented,
    is_sold,
    why_not_on_offer,
)

SUITS_ONE = Suitability()
"""A way that suits one person, as far as rules tell."""
ATX_SLOTS = 7
"""Slots of an ATX board (ATX specification 2.2): cards that take more of them need a server, whose
price is not that of the cards."""
_USUAL_SLOTS = 2


_PLACES = {True: 0.0, None: 1.0, False: 2.0}
"""What is unknown lies between met and missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(ABC):
    """Facts that a recommendation goes by, to serve or to train: who asks, conditions, then value.

    Attributes:
        room: surely fits with SPARE_SHARE to spare; a server's engine leaves that free itself.
        today: the day by which a price is old.
        tokens_per_second: of each user, or of a training; None when unknown.
        enough: tokens/s asked for.
        value_usd: US dollars by which those that meet the same conditions are ordered.
        rent_usd: rent of an hour, or of a training; None when unknown.
        users: how many share it.
        suitability: how it suits who asks.
    """

    gpu: Gpu
    boards: int
    verdict: Verdict
    room: bool
    today: date
    tokens_per_second: float | None
    enough: float
    value_usd: float | None
    rent_usd: float | None
    users: int = 1
    suitability: Suitability = SUITS_ONE

    @property
    @abstractmethod
    def evident(self) -> bool:
        """Whether measurements stand behind the speed, as far as they are asked for."""

    @property
    @abstractmethod
    def at_work(self) -> tuple[bool | None, ...]:
        """The conditions between offer and computer, in order; None where it is unknown."""

    @property
    @abstractmethod
    def cost_note(self) -> Note:
        """Note on the cost."""

    @property
    def ended_support(self) -> EndedSupport | None:
        """The release of its software that left it behind, None while supported."""
        return ended_support(self.gpu)

    @property
    def not_on_offer(self) -> str:
        """Why it is neither sold nor commonly rented out today, "" where it is."""
        return why_not_on_offer(self.gpu, self.today)

    @property
    def computer(self) -> str:
        """Nothing where one computer takes the boards or they are rented with one, else why not."""
        return computer_of(self.gpu, self.boards)

    @property
    def fast_enough(self) -> bool | None:
        """Whether it does as many tokens/s as asked for; None when the speed is unknown."""
        return None if self.tokens_per_second is None else self.tokens_per_second >= self.enough

    @property
    def stands_beside(self) -> bool:
        """Whether who asks may be shown it beside the first place."""
        rule = self.suitability.kept_back
        return rule is None or rule.beside

    @property
    def key(self) -> tuple[float, ...]:
        """Sort key, least for the best."""
        is_kept_back = self.suitability.kept_back is not None
        supported, offered = self.ended_support is None, not self.not_on_offer
        missed = (not self.room, not supported, not self.evident, not offered)
        return (
            float(is_kept_back) + float(not self.stands_beside),
            float(self.suitability.to_be_made),
            *map(float, missed),
            *(_PLACES[met] for met in self.at_work),
            float(self.computer != ""),
            math.inf if self.value_usd is None else self.value_usd,
        )

    def is_possible(self) -> bool:
        """Whether it may be an alternative: it surely fits, its software lives on, and it may stand
        beside the first place."""
        is_sure = self.verdict is Verdict.FITS
        return is_sure and self.ended_support is None and self.stands_beside

    def missed(self) -> tuple[Note, ...]:
        """Why it is not offered to who asks, then the conditions that it misses."""
        rule = self.suitability.kept_back
        why = () if rule is None else (Note(f"why_audience_{rule.code}"),)
        return *why, *self._missed()

    @property
    def meets_conditions(self) -> bool:
        """Whether it meets every condition but the audience's."""
        return not any(self._missed())

    @property
    def recommendable(self) -> bool:
        """Whether it misses nothing that is known."""
        return not self.missed()

    def notes(self) -> tuple[Note, ...]:
        """The conditions that it misses, or a note that it meets them all; then its cost."""
        met = Note("why_recommended_but_speed" if None in self.at_work else "why_recommended")
        return *(self.missed() or (met,)), self.cost_note

    def _missed(self) -> Iterator[Note]:
        if not self.room:
            yield Note("why_little_room", percent=round(SPARE_SHARE * 100))
        if (ended := self.ended_support) is not None:
            yield Note("why_support_ended", release=ended.ended_with, since=ended.since)
        if why := self.not_on_offer:
            yield Note(f"why_offer_{why}", year=self.gpu.release_year)
        yield from self._missed_at_work()
        if why := self.computer:
            yield Note(f"why_computer_{why}")

    def _missed_at_work(self) -> Iterator[Note]:
        if self.fast_enough is False:
            yield Note("why_too_slow", tokens=significant(self.enough))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Conditions):
    """Facts that a recommendation to serve goes by, with the cost of an hour.

    Attributes:
        usd_per_hour: by a rent or a price of today, None when neither is known.
        rented: whether that is a rent.
        usd_per_thousand_pictures: what these cost so, None where none are drawn.
        evidence: what stands behind the speed, None where it is unknown or none is asked for.
    """

    usd_per_hour: float | None
    rented: bool
    usd_per_thousand_pictures: float | None
    evidence: SpeedEvidence | None

    @property
    def evident(self) -> bool:
        """Whether such cards were measured, and even the low end is as fast as was asked for."""
        return self.evidence is None or self.evidence.holds

    @property
    def at_work(self) -> tuple[bool | None, ...]:
        """Whether it is fast enough."""
        return (self.fast_enough,)

    def _missed_at_work(self) -> Iterator[Note]:
        if self.evidence is not None and not self.evidence.measured:
            yield Note("why_unmeasured")
        elif self.evidence is not None and not self.evidence.is_narrow:
            yield Note("why_wide_band", percent=round(100 * self.evidence.low_share))
        elif not self.evident and self.fast_enough:
            yield Note("why_slow_end", tokens=significant(self.enough))
        yield from Conditions._missed_at_work(self)

    @property
    def cost_note(self) -> Note:
        """The cost of an hour, or of a thousand pictures."""
        if self.usd_per_hour is None:
            return Note("why_cost_unknown")
        kind = "rented" if self.rented else "owned"
        if self.usd_per_thousand_pictures is not None:
            return Note(f"why_per_thousand_{kind}", usd=self.usd_per_thousand_pictures)
        return Note(f"why_per_hour_{kind}", usd=self.usd_per_hour)


def score_of(
    way: Way,
    tokens_per_second: float | None,
    enough: float,
    costs: PlanCosts,
    evidence: SpeedEvidence | None = None,
    suitability: Suitability = SUITS_ONE,
) -> Score:
    """The score of one way to run a model on boards of one GPU."""
    usd_per_hour, rented = firm_usd_per_hour(way.gpu, costs)
    of_pictures, value = costs.of_thousand_pictures(usd_per_hour), usd_per_hour
    if of_pictures is not None:
        value = of_pictures
    elif usd_per_hour is not None and tokens_per_second and not suitability.for_many:
        # One person pays for the tokens that are sure to come, many users for the hour.
        low = 1.0 if evidence is None else evidence.low_share
        value = usd_per_hour / (tokens_per_second * low)
    return Score(
        gpu=way.gpu,
        boards=way.boards,
        verdict=way.verdict,
        room=way.verdict is Verdict.FITS and has_room(way, for_many=suitability.for_many),
        today=costs.today,
        tokens_per_second=tokens_per_second,
        enough=enough,
        value_usd=value,
        rent_usd=costs.rent_usd_per_hour,
        users=way.estimate.placement.workload.concurrency,
        suitability=suitability,
        usd_per_hour=usd_per_hour,
        rented=rented,
        usd_per_thousand_pictures=of_pictures,
        evidence=evidence,
    )


def firm_usd_per_hour(gpu: Gpu, costs: PlanCosts) -> tuple[float | None, bool]:
    """US dollars for an hour of work, and whether rented: the lesser of the rent and, by a price of
    today, of owning; None where neither is known.

    Modules of servers are rented only: the price of a module leaves out its server. So are more
    cards than a computer that one builds takes, where somebody rents them out.
    """
    rent = costs.rent_usd_per_hour
    is_firm = costs.buy_is_own or firm_price(gpu, costs.today) is not None
    owned = costs.owned_usd_per_hour if is_sold_alone(gpu) and is_firm else None
    needs_server = bool(bought_computer(gpu, costs.boards)) and is_rented(gpu)
    if owned is not None and (rent is None or (owned < rent and not needs_server)):
        return owned, False
    return rent, rent is not None


def is_sold_alone(gpu: Gpu) -> bool:
    """Whether the price of a board is all one pays: a card for a slot, or a whole computer."""
    return is_card(gpu) or is_whole_computer(gpu)


def can_be_bought(gpu: Gpu, boards: int, today: date) -> bool:
    """Whether so many boards are for sale today, for one computer that one builds or buys."""
    return is_sold(gpu, today) and is_sold_alone(gpu) and not bought_computer(gpu, boards)


def can_be_rented(gpu: Gpu, boards: int) -> bool:
    """Whether several providers rent the board out, and one server takes so many."""
    return is_rented(gpu) and boards <= SERVER_BOARDS


def bought_computer(gpu: Gpu, boards: int) -> str:
    """Nothing where one computer that one builds or buys takes the boards, else why not."""
    if gpu.segment == "embedded":
        return "module"
    slots = (gpu.slots or _USUAL_SLOTS) * boards if is_card(gpu) else 0
    return "several" if slots > ATX_SLOTS or boards > SERVER_BOARDS else ""


def computer_of(gpu: Gpu, boards: int) -> str:
    """Nothing where one computer takes the boards or they are rented with one, else why not."""
    reason = bought_computer(gpu, boards)
    return "" if reason == "several" and can_be_rented(gpu, boards) else reason
