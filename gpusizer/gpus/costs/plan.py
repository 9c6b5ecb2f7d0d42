"""PlanCosts: money and power of some boards of one GPU, bought or rented.

    owned USD/h   = (boards + host) / hours until written off + kW x USD/kWh
    USD/1M tokens = USD/h / (tokens/s x 3600) x 1e6
    break-even    = (boards + host) / (rent per hour - kW x USD/kWh), in hours of work

Break-even follows from prices of different dates; rent is paid for working hours only. A doubted
price counts among the least costs only of boards without a rent; an estimate by similar
boards counts nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, SECONDS_PER_HOUR, SECONDS_PER_MINUTE, significant
from gpusizer.gpus import Gpu, Price
from gpusizer.gpus.costs.power import is_card, plan_watts, power_supply_watts
from gpusizer.gpus.costs.rental import RentalQuote, own_quote, rental_quote
from gpusizer.gpus.purchase import current_day, is_old

NVME_GB_PER_S = 7.0
"""Sequential reading of an NVMe disk on four lanes of PCIe 4.0 (Samsung 980 PRO,
pugetsystems.com/parts/Hard-Drive/Samsung-980-Pro-2TB-Gen4-M-2-SSD-13831)."""
ETHERNET_GBIT_PER_S = 1.0
"""Gigabit Ethernet (IEEE 802.3ab)."""
_BITS = 8


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Minutes until `stored_bytes` of weights are read, at best: nothing else is counted.

    The bytes are those of files in the quantization that runs. An engine that quantizes while it
    loads reads the original files instead.

    Attributes:
        disk_minutes: from a local disk into memory, at each start.
        download_minutes: from the Hub onto the disk, once for each machine.
    """

    provenance: ClassVar[Provenance] = Provenance.DERIVED

    stored_bytes: int
    disk_minutes: float
    download_minutes: float


def load_times(stored_bytes: int, disk_gb_per_s: float, network_gbit_per_s: float) -> LoadTimes:
    """Minutes for weights of that size.

    >>> load_times(35 * 10**9, 3.5, 1.0)
    LoadTimes(stored_bytes=35000000000, disk_minutes=0.167, download_minutes=4.67)
    """
    disk_seconds = stored_bytes / (disk_gb_per_s * GB)
    network_seconds = stored_bytes * _BITS / (network_gbit_per_s * GB)
    return LoadTimes(
        stored_bytes,
        significant(disk_seconds / SECONDS_PER_MINUTE),
        significant(network_seconds / SECONDS_PER_MINUTE),
    )


DAYS_PER_MONTH = 365.25 / 12
"""Days of an average month."""


@dataclass(frozen=True, slots=True)
class CostAssumptions:
    """What costs are computed with. The defaults are round figures that every answer states.

    Attributes:
        hours_per_day: hours of work a day, every day of the year. Idle hours cost nothing here.
        usd_per_kwh: price of electricity.
        amortisation_years: after which bought boards are worth nothing.
        host_usd: price of the computers around the boards; 0 leaves them out.
        gpu_usd, gpu_usd_per_hour: the reader's own prices of one board, to buy and to rent for an
            hour, in place of those on record; None for these.
        disk_gb_per_s, network_gbit_per_s: speeds at which weights are read from a disk and come
            from the Hub (`load_times`).
    """

    hours_per_day: float = 8.0
    usd_per_kwh: float = 0.15
    amortisation_years: float = 3.0
    host_usd: float = 0.0
    gpu_usd: float | None = None
    gpu_usd_per_hour: float | None = None
    disk_gb_per_s: float = NVME_GB_PER_S
    network_gbit_per_s: float = ETHERNET_GBIT_PER_S

    @property
    def has_own_prices(self) -> bool:
        """Whether the reader named a price of the board."""
        return self.gpu_usd is not None or self.gpu_usd_per_hour is not None

    @property
    def hours_per_month(self) -> float:
        """Hours of work in an average month."""
        return self.hours_per_day * DAYS_PER_MONTH

    @property
    def lifetime_hours(self) -> float:
        """Hours of work until the boards are written off."""
        return self.hours_per_month * 12 * self.amortisation_years

    @property
    def without_own_prices(self) -> CostAssumptions:
        """Assumptions for GPUs that the reader's own prices are not of."""
        return replace(self, gpu_usd=None, gpu_usd_per_hour=None)


DEFAULT_ASSUMPTIONS = CostAssumptions()


@dataclass(frozen=True, slots=True)
class PlanCosts:
    """Costs of `boards` boards together. Unknown is None.

    Attributes:
        buy_usd: price of the boards, from `buy` (one board, with its date, basis and source).
        buy_is_doubted: all figures behind `buy` are contradicted or doubted.
        similar: what similar boards cost, where nothing is known of this one.
        today: the day by which a price is said to be old.
        rent: prices of one board-hour.
        tokens_per_second: what the plan generates for all its users, at the likely speed.
        seconds_per_picture: likely, of a model that draws pictures or clips; None for others.
        running_watts: boards at their rated power, and their hosts.
        cards: whether the boards go into a slot of a computer that one builds.
        power_supply_watts: size of supply, for such cards.
        break_even_months: after which buying has cost less than renting; None when that never
            happens or a price is unknown: `cheaper` tells them apart.
        users: who keep the boards busy meanwhile, None where that is unknown.
        cheaper: "own" when that is before the boards are written off, else "rent".
    """

    boards: int
    buy: Price | None
    buy_year: int
    rent: RentalQuote | None
    tokens_per_second: float | None
    running_watts: float | None
    cards: bool
    power_supply_watts: int | None
    assumptions: CostAssumptions
    buy_is_doubted: bool
    similar: Price | None
    today: date
    seconds_per_picture: float | None = None
    users: int | None = None

    @property
    def buy_usd(self) -> float | None:
        return None if self.buy is None else self.buy.usd * self.boards

    @property
    def buy_as_of(self) -> str | None:
        """Date of the price to buy; the year of a launch price; None for the reader's own."""
        if self.buy is None or self.buy_is_own:
            return None
        return self.buy.date or str(self.buy_year)

    @property
    def buy_is_own(self) -> bool:
        """Whether the price to buy is the reader's own."""
        return self.buy is not None and self.buy.basis == "own"

    @property
    def buy_is_old(self) -> bool | None:
        """Whether the price to buy is more than a year old; None without a price."""
        return None if self.buy is None else is_old(self.buy_as_of, self.today)

    @property
    def buy_low_usd(self) -> float | None:
        """The least figure behind the price to buy, for all boards."""
        return None if self.buy is None else self.of_all(self.buy.low_usd)

    @property
    def buy_high_usd(self) -> float | None:
        """The highest figure behind the price to buy, for all boards."""
        return None if self.buy is None else self.of_all(self.buy.high_usd)

    @property
    def similar_usd(self) -> float | None:
        """An estimate by similar boards, for all boards."""
        return None if self.similar is None else self.of_all(self.similar.usd)

    @property
    def similar_low_usd(self) -> float | None:
        """The low end of that estimate."""
        return None if self.similar is None else self.of_all(self.similar.low_usd)

    @property
    def similar_high_usd(self) -> float | None:
        """The high end of that estimate."""
        return None if self.similar is None else self.of_all(self.similar.high_usd)

    def of_all(self, usd: float | None) -> float | None:
        """The price of one board, times the boards."""
        return None if usd is None else round(usd * self.boards, 2)

    @property
    def rent_usd_per_hour(self) -> float | None:
        """Likely rent of all boards for an hour."""
        return self.rented("likely_usd")

    def rented(self, which: str) -> float | None:
        """One of the quote's prices, for all boards."""
        usd = None if self.rent is None else getattr(self.rent, which)
        return None if usd is None else round(usd * self.boards, 4)

    @property
    def electricity_usd_per_hour(self) -> float | None:
        """Electricity of one hour of work."""
        if self.running_watts is None:
            return None
        return self.running_watts / 1000 * self.assumptions.usd_per_kwh

    @property
    def electricity_usd_per_month(self) -> float | None:
        """Electricity of an average month of the assumed hours."""
        hourly = self.electricity_usd_per_hour
        return None if hourly is None else round(hourly * self.assumptions.hours_per_month, 2)

    @property
    def owned_usd_per_hour(self) -> float | None:
        """Write-off and electricity of one hour of work."""
        hourly = self.electricity_usd_per_hour
        if self.buy_usd is None or hourly is None:
            return None
        price = self.buy_usd + self.assumptions.host_usd
        return price / self.assumptions.lifetime_hours + hourly

    @property
    def usd_per_million_tokens(self) -> float | None:
        """USD for a million generated tokens on rented boards, None when unknown."""
        return self._per_million_tokens(self.rent_usd_per_hour)

    @property
    def usd_per_million_tokens_owned(self) -> float | None:
        """USD for a million generated tokens on owned boards, None when unknown."""
        return self._per_million_tokens(self.owned_usd_per_hour)

    @property
    def break_even_hours(self) -> float | None:
        """Hours of work after which buying has cost less; None when unknown or never."""
        return self._hours_until_cheaper_than(self.rent_usd_per_hour)

    @property
    def break_even_months(self) -> float | None:
        """Months of the assumed hours after which buying has cost less; None as for hours."""
        return self.months_until_cheaper_than(self.rent_usd_per_hour)

    def months_until_cheaper_than(self, rent_usd_per_hour: float | None) -> float | None:
        """Months of work at the assumed hours after which buying has cost less than a rent, that of
        other boards for instance; None when unknown or never.
        """
        hours = self._hours_until_cheaper_than(rent_usd_per_hour)
        return None if hours is None else round(hours / self.assumptions.hours_per_month, 1)

    @property
    def cheaper(self) -> str | None:
        """ "own" or "rent" over the time of the write-off, None when a price is unknown."""
        if None in (self.buy_usd, self.rent_usd_per_hour, self.electricity_usd_per_hour):
            return None
        hours = self.break_even_hours
        return "own" if hours is not None and hours <= self.assumptions.lifetime_hours else "rent"

    @property
    def lowest_usd_per_hour(self) -> float | None:
        """USD for an hour of work: the lesser of the rented and the owned price, of those known.

        A doubted price to buy counts only where no rent is known.
        """
        rented, owned = self.rent_usd_per_hour, self.owned_usd_per_hour
        if rented is None or owned is None:
            return owned if rented is None else rented
        return rented if self.buy_is_doubted else min(rented, owned)

    @property
    def lowest_usd_per_million_tokens(self) -> float | None:
        """USD for a million tokens: the lesser of the known rented and owned prices."""
        return self._per_million_tokens(self.lowest_usd_per_hour)

    @property
    def usd_per_thousand_pictures(self) -> float | None:
        """USD for a thousand pictures or clips on rented boards, None when unknown."""
        return self.of_thousand_pictures(self.rent_usd_per_hour)

    @property
    def lowest_usd_per_thousand_pictures(self) -> float | None:
        """The lesser of the known rented and owned prices of them."""
        return self.of_thousand_pictures(self.lowest_usd_per_hour)

    def of_thousand_pictures(self, usd_per_hour: float | None) -> float | None:
        """USD for a thousand pictures or clips, by the USD for an hour."""
        if usd_per_hour is None or self.seconds_per_picture is None:
            return None
        return significant(usd_per_hour * self.seconds_per_picture / SECONDS_PER_HOUR * 1000)

    @property
    def as_of(self) -> str | None:
        """Date of the rent, else of the street price, else the year of the launch price."""
        if self.rent is not None and self.rent.as_of:
            return self.rent.as_of
        return self.buy_as_of

    def _hours_until_cheaper_than(self, rent_usd_per_hour: float | None) -> float | None:
        electricity = self.electricity_usd_per_hour
        if self.buy_usd is None or rent_usd_per_hour is None or electricity is None:
            return None
        saved = rent_usd_per_hour - electricity
        return (self.buy_usd + self.assumptions.host_usd) / saved if saved > 0 else None

    def _per_million_tokens(self, usd_per_hour: float | None) -> float | None:
        if usd_per_hour is None or not self.tokens_per_second:
            return None
        return significant(usd_per_hour / (self.tokens_per_second * SECONDS_PER_HOUR) * 1e6)

    def notes(self) -> tuple[Note, ...]:
        """What the reader of these figures must know."""
        notes = []
        if self.buy is not None and self.buy.basis == "launch":
            notes.append(Note("price_of_launch", year=self.buy_year))
        elif self.buy_as_of is not None and self.buy_is_old:
            notes.append(Note("price_is_old", date=self.buy_as_of))
        if self.similar is not None:
            notes.append(_similar_note(self.similar))
        if self.buy is not None and self.cards and not self.assumptions.host_usd:
            notes.append(Note("computer_not_counted"))
        if self.rent is not None and not self.rent.exact:
            notes.append(Note("rent_label_not_exact"))
        if self.running_watts is not None:
            notes.append(Note("power_is_rated"))
            if self.cards and self.power_supply_watts is None:
                notes.append(Note("several_power_supplies"))
        return tuple(notes)


def plan_costs(
    gpu: Gpu,
    boards: int,
    tokens_per_second: float | None,
    assumptions: CostAssumptions,
    today: date | None = None,
    *,
    seconds_per_picture: float | None = None,
    users: int | None = None,
) -> PlanCosts:
    """Costs of `boards` boards that together generate `tokens_per_second` (None: unknown), or a
    picture in so many seconds.

    The reader's own prices stand in place of those on record. Prices are said to be old by `today`,
    by default the current day.
    """
    own, own_rent = assumptions.gpu_usd, assumptions.gpu_usd_per_hour
    buy = gpu.buy if own is None else Price(own, "own", "own", None)
    is_own = buy is not None and buy.basis == "own"
    return PlanCosts(
        boards=boards,
        buy=buy,
        buy_year=gpu.release_year,
        rent=rental_quote(gpu) if own_rent is None else own_quote(own_rent),
        tokens_per_second=tokens_per_second,
        running_watts=plan_watts(gpu, boards),
        cards=is_card(gpu),
        power_supply_watts=power_supply_watts(gpu, boards),
        assumptions=assumptions,
        buy_is_doubted=gpu.price_is_doubted and not is_own,
        similar=None if is_own else gpu.similar,
        today=today or current_day(),
        seconds_per_picture=seconds_per_picture,
        users=users,
    )


def _similar_note(price: Price) -> Note:
    """An estimate of one board."""
    low, high = price.low_usd or price.usd, price.high_usd or price.usd
    count = len(price.providers)
    return Note("price_of_similar", count=count, usd=price.usd, low_usd=low, high_usd=high)
