"""Recommendation: the audience, six conditions in order of weight, then value.

    audience   offered to it (`gpusizer/fit/audience.toml`), then possible alternatives
    room       surely fits, with at least a tenth of each card to spare
    support    the vendor's software has not left the architecture behind
    on_offer   sold or commonly rented out today
    evidence   such cards were measured, and the low end of the band is near and as fast as asked
               for; then measured at all
    speed      tokens/s for each user as asked for, or as fast as one reads
    computer   goes into one ordinary computer, is one, or is rented with one
    value      US dollars for an hour of work, rented or owned, whichever is less, for each token
               a second at the low end; for pictures, if the time is known, dollars for a thousand

A card that misses an earlier condition comes after all that meet it, however cheap it is.
Conditions are not weighed against each other. docs/recommendation.md gives their sources.
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
from gpusizer.fit.preference_key import SPARE_SHARE, leaves_spare_share
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.user_speed import SpeedEvidence
from gpusizer.fit.verdict import Verdict
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

# A way that suits one person, as far as rules say.
SUITS_ONE = Suitability()
# Slots of an ATX board (ATX specification 2.2): cards that take more of them need a server, whose
# price is not that of the cards.
ATX_SLOTS = 7
_USUAL_SLOTS = 2


# An unknown condition ranks between met and missed.
_PLACES = {True: 0.0, None: 1.0, False: 2.0}

# Least `Conditions.key` of boards without support or not on offer, and of those that the audience
# is never offered.
UNAVAILABLE = (0.0, 0.0, 0.0, 0.0, 1.0)
NEVER_OFFERED = (2.0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions(ABC):
    """Facts for a recommendation to serve or to train: audience, conditions, then value."""

    gpu: Gpu
    boards: int
    verdict: Verdict
    room: bool  # surely fits with SPARE_SHARE to spare; a server's engine leaves that free itself
    today: date  # day to which prices are compared
    tokens_per_second: float | None  # of each user, or of a training; None if unknown
    enough: float  # requested tokens/s
    value_usd: float | None  # US dollars that order ways with equal conditions
    rent_usd: float | None  # rent of an hour, or of a training; None if unknown
    users: int = 1  # number of users who share it
    suitability: Suitability = SUITS_ONE

    @property
    @abstractmethod
    def evident(self) -> bool:
        """Whether measurements support the speed, if a speed matters."""

    @property
    def evidence_place(self) -> int:
        """Place by evidence: 0 if measurements support the speed."""
        return 0 if self.evident else 1

    @property
    @abstractmethod
    def at_work(self) -> tuple[bool | None, ...]:
        """The conditions between offer and computer, in order; None for an unknown one."""

    @property
    @abstractmethod
    def cost_note(self) -> Note:
        """Note on the cost."""

    @property
    def ended_support(self) -> EndedSupport | None:
        """The last software release for the architecture, None while it is supported."""
        return ended_support(self.gpu)

    @property
    def not_on_offer(self) -> str:
        """Why it is neither sold nor commonly rented out today, "" if it is."""
        return why_not_on_offer(self.gpu, self.today)

    @property
    def computer(self) -> str:
        """Why no single computer takes the boards, "" if one does or is rented with them."""
        return computer_of(self.gpu, self.boards)

    @property
    def fast_enough(self) -> bool | None:
        """Whether it is as fast as requested; None if the speed is unknown."""
        return None if self.tokens_per_second is None else self.tokens_per_second >= self.enough

    @property
    def stands_beside(self) -> bool:
        """Whether it may be shown as an alternative to the first place."""
        rule = self.suitability.kept_back
        return rule is None or rule.beside

    @property
    def key(self) -> tuple[float, ...]:
        is_kept_back = self.suitability.kept_back is not None
        supported, offered = self.ended_support is None, not self.not_on_offer
        missed = (not self.room, not supported, not offered, self.evidence_place)
        return (
            float(is_kept_back) + float(not self.stands_beside),
            float(self.suitability.to_be_made),
            *map(float, missed),
            *(_PLACES[met] for met in self.at_work),
            float(self.computer != ""),
            math.inf if self.value_usd is None else self.value_usd,
        )

    def is_possible(self) -> bool:
        """Whether it may be an alternative: it surely fits and has software support."""
        is_sure = self.verdict is Verdict.FITS
        return is_sure and self.ended_support is None and self.stands_beside

    def missed(self) -> tuple[Note, ...]:
        """Return why it is not offered to the audience, then the conditions that it misses."""
        rule = self.suitability.kept_back
        why = () if rule is None else (Note(f"why_audience_{rule.code}"),)
        return *why, *self._missed()

    @property
    def meets_conditions(self) -> bool:
        """Whether it meets every condition except the audience's."""
        return not any(self._missed())

    @property
    def recommendable(self) -> bool:
        """Whether it misses no condition that is known."""
        return not self.missed()

    def notes(self) -> tuple[Note, ...]:
        """Return the missed conditions, or a note that all are met; then the cost."""
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
    """Facts for a recommendation to serve, with the cost of an hour."""

    usd_per_hour: float | None  # today's rent or cost of owning, None if neither is known
    rented: bool  # whether `usd_per_hour` is a rent
    usd_per_thousand_pictures: float | None  # None for models that draw none
    evidence: SpeedEvidence | None  # None if the speed is unknown or irrelevant

    @property
    def evident(self) -> bool:
        """Whether such cards were measured, and even the low end is as fast as requested."""
        return self.evidence is None or self.evidence.holds

    @property
    def evidence_place(self) -> int:
        """Place by evidence: such cards measured, measured in a wide or a low band, or not."""
        return 0 if self.evident else 1 if self.evidence and self.evidence.measured else 2

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
        """Note on the cost of an hour, or of a thousand pictures."""
        if self.usd_per_hour is None:
            return Note("why_cost_unknown")
        kind = "rented" if self.rented else "owned"
        if self.usd_per_thousand_pictures is not None:
            return Note(f"why_per_thousand_{kind}", usd=self.usd_per_thousand_pictures)
        return Note(f"why_per_hour_{kind}", usd=self.usd_per_hour)


def score_of(
    config: RunConfig,
    tokens_per_second: float | None,
    enough: float,
    costs: PlanCosts,
    evidence: SpeedEvidence | None = None,
    suitability: Suitability = SUITS_ONE,
) -> Score:
    """Build the score of one way to run a model on boards of one GPU."""
    usd_per_hour, rented = firm_usd_per_hour(config.gpu, costs)
    of_pictures, value = costs.of_thousand_pictures(usd_per_hour), usd_per_hour
    if of_pictures is not None:
        value = of_pictures
    elif usd_per_hour is not None and tokens_per_second and not suitability.for_many:
        # One person pays for the tokens that are sure to come, many users for the hour.
        low = 1.0 if evidence is None else evidence.low_share
        value = usd_per_hour / (tokens_per_second * low)
    return Score(
        gpu=config.gpu,
        boards=config.boards,
        verdict=config.verdict,
        room=config.verdict is Verdict.FITS
        and leaves_spare_share(config, for_many=suitability.for_many),
        today=costs.today,
        tokens_per_second=tokens_per_second,
        enough=enough,
        value_usd=value,
        rent_usd=costs.rent_usd_per_hour,
        users=config.estimate.placement.workload.concurrency,
        suitability=suitability,
        usd_per_hour=usd_per_hour,
        rented=rented,
        usd_per_thousand_pictures=of_pictures,
        evidence=evidence,
    )


def firm_usd_per_hour(gpu: Gpu, costs: PlanCosts) -> tuple[float | None, bool]:
    """Return US dollars for an hour of work, and whether that is a rent.

    The lower one of rent and owning at today's price; None if neither is known.
    """
    rent = costs.rent_usd_per_hour
    is_firm = costs.buy_is_own or firm_price(gpu, costs.today) is not None
    # Modules of servers are rented only: their price leaves out the server. So are more cards than
    # a self-built computer takes, if a provider rents them out.
    owned = costs.owned_usd_per_hour if is_sold_alone(gpu) and is_firm else None
    needs_server = bool(bought_computer(gpu, costs.boards)) and is_rented(gpu)
    if owned is not None and (rent is None or (owned < rent and not needs_server)):
        return owned, False
    return rent, rent is not None


def is_sold_alone(gpu: Gpu) -> bool:
    """Whether a board's price is the whole price: a card for a slot, or a computer."""
    return is_card(gpu) or is_whole_computer(gpu)


def can_be_bought(gpu: Gpu, boards: int, today: date) -> bool:
    """Whether `boards` are for sale today for one self-built or bought computer."""
    return is_sold(gpu, today) and is_sold_alone(gpu) and not bought_computer(gpu, boards)


def can_be_rented(gpu: Gpu, boards: int) -> bool:
    """Whether several providers rent the board out, and one server takes `boards` of it."""
    return is_rented(gpu) and boards <= SERVER_BOARDS


def bought_computer(gpu: Gpu, boards: int) -> str:
    """Return why no self-built or bought computer takes the boards, "" if one does."""
    if gpu.segment == "embedded":
        return "module"
    slots = (gpu.slots or _USUAL_SLOTS) * boards if is_card(gpu) else 0
    return "several" if slots > ATX_SLOTS or boards > SERVER_BOARDS else ""


def computer_of(gpu: Gpu, boards: int) -> str:
    """Return why no single computer takes the boards, "" if one does or is rented with them."""
    reason = bought_computer(gpu, boards)
    return "" if reason == "several" and can_be_rented(gpu, boards) else reason
