"""Money and power of some boards of one GPU, bought or rented.

    owned USD/h   = (boards + host) / hours until written off + kW x USD/kWh
    USD/1M tokens = USD/h / (tokens/s x 3600) x 1e6
    break-even    = (boards + host) / (rent per hour - kW x USD/kWh), in hours of work

Break-even combines prices of different dates; rent is paid for working hours only. A doubted price
counts among the lowest costs only for boards without a rent; an estimate from similar boards never
counts.
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

# Sequential read rate of an NVMe disk on four lanes of PCIe 4.0 (Samsung 980 PRO,
# pugetsystems.com/parts/Hard-Drive/Samsung-980-Pro-2TB-Gen4-M-2-SSD-13831).
NVME_GB_PER_S = 7.0
ETHERNET_GBIT_PER_S = 1.0  # Gigabit Ethernet (IEEE 802.3ab).
_BITS = 8


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Minutes until `stored_bytes` of weights are read, at best.

    The bytes are those of files in the quantization that runs. An engine that quantizes at load
    time reads the original files instead.
    """

    provenance: ClassVar[Provenance] = Provenance.DERIVED

    stored_bytes: int
    disk_minutes: float  # from a local disk into memory, at each start
    download_minutes: float  # from the Hub onto the disk, once for each machine


def load_times(stored_bytes: int, disk_gb_per_s: float, network_gbit_per_s: float) -> LoadTimes:
    """Return the minutes to read weights from the disk and to download them.

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


DAYS_PER_MONTH = 365.25 / 12  # in an average month


@dataclass(frozen=True, slots=True)
class CostAssumptions:
    """Assumptions of cost estimates. Answers state these round defaults.

    Hours are those of every day of the year; idle hours cost nothing. Bought boards are worth
    nothing after `amortisation_years`. A `host_usd` of 0 leaves out the host computers. `gpu_usd`
    and `gpu_usd_per_hour` are the user's own prices of one board. Weights are read from disk and
    downloaded at the last two rates.
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
        """Whether the user stated a price of the board."""
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
        """Assumptions for GPUs other than the one that the user's prices refer to."""
        return replace(self, gpu_usd=None, gpu_usd_per_hour=None)


DEFAULT_ASSUMPTIONS = CostAssumptions()


@dataclass(frozen=True, slots=True)
class PlanCosts:
    """Costs of `boards` boards together. Unknown values are None."""

    boards: int
    buy: Price | None  # price of one board, with its date, basis and source
    buy_year: int
    rent: RentalQuote | None  # prices of one board-hour
    tokens_per_second: float | None  # likely rate of the plan for all its users together
    running_watts: float | None  # boards at their rated power, and their hosts
    cards: bool  # whether the boards go into a slot of a self-built computer
    power_supply_watts: int | None  # size of the supply, for such cards
    assumptions: CostAssumptions
    buy_is_doubted: bool  # all figures behind `buy` are contradicted or doubted
    similar: Price | None  # price of similar boards, if this one has none
    today: date  # the day used to decide whether a price is old
    # likely, for a model that draws pictures or clips; None for others
    seconds_per_picture: float | None = None
    users: int | None = None  # number that keeps the boards busy, None if unknown

    @property
    def buy_usd(self) -> float | None:
        return None if self.buy is None else self.buy.usd * self.boards

    @property
    def buy_as_of(self) -> str | None:
        """Date of the price to buy; the year of a launch price; None for the user's own."""
        if self.buy is None or self.buy_is_own:
            return None
        return self.buy.date or str(self.buy_year)

    @property
    def buy_is_own(self) -> bool:
        """Whether the price to buy is the user's own."""
        return self.buy is not None and self.buy.basis == "own"

    @property
    def buy_is_old(self) -> bool | None:
        """Whether the price to buy is more than a year old; None without a price."""
        return None if self.buy is None else is_old(self.buy_as_of, self.today)

    @property
    def buy_low_usd(self) -> float | None:
        """Lowest figure behind the price to buy, for all boards."""
        return None if self.buy is None else self.of_all(self.buy.low_usd)

    @property
    def buy_high_usd(self) -> float | None:
        """Highest figure behind the price to buy, for all boards."""
        return None if self.buy is None else self.of_all(self.buy.high_usd)

    @property
    def similar_usd(self) -> float | None:
        """Estimate from similar boards, for all boards, in USD."""
        return None if self.similar is None else self.of_all(self.similar.usd)

    @property
    def similar_low_usd(self) -> float | None:
        """Low end of the estimate from similar boards, for all boards, in USD."""
        return None if self.similar is None else self.of_all(self.similar.low_usd)

    @property
    def similar_high_usd(self) -> float | None:
        """High end of the estimate from similar boards, for all boards, in USD."""
        return None if self.similar is None else self.of_all(self.similar.high_usd)

    def of_all(self, usd: float | None) -> float | None:
        """Return a price of one board multiplied by the number of boards."""
        return None if usd is None else round(usd * self.boards, 2)

    @property
    def rent_usd_per_hour(self) -> float | None:
        """Likely rent of all boards for an hour."""
        return self.rented("likely_usd")

    def rented(self, which: str) -> float | None:
        """Return the quote's price named `which`, for all boards."""
        usd = None if self.rent is None else getattr(self.rent, which)
        return None if usd is None else round(usd * self.boards, 4)

    @property
    def electricity_usd_per_hour(self) -> float | None:
        """Electricity of one hour of work in USD."""
        if self.running_watts is None:
            return None
        return self.running_watts / 1000 * self.assumptions.usd_per_kwh

    @property
    def electricity_usd_per_month(self) -> float | None:
        """Electricity of an average month of the assumed hours in USD."""
        hourly = self.electricity_usd_per_hour
        return None if hourly is None else round(hourly * self.assumptions.hours_per_month, 2)

    @property
    def owned_usd_per_hour(self) -> float | None:
        """Write-off and electricity of one hour of work in USD."""
        hourly = self.electricity_usd_per_hour
        if self.buy_usd is None or hourly is None:
            return None
        price = self.buy_usd + self.assumptions.host_usd
        return price / self.assumptions.lifetime_hours + hourly

    @property
    def usd_per_million_tokens(self) -> float | None:
        """USD for a million generated tokens on rented boards, or None if unknown."""
        return self._per_million_tokens(self.rent_usd_per_hour)

    @property
    def usd_per_million_tokens_owned(self) -> float | None:
        """USD for a million generated tokens on owned boards, or None if unknown."""
        return self._per_million_tokens(self.owned_usd_per_hour)

    @property
    def break_even_hours(self) -> float | None:
        """Hours of work after which buying has cost less; None if unknown or never."""
        return self._hours_until_cheaper_than(self.rent_usd_per_hour)

    @property
    def break_even_months(self) -> float | None:
        """Months of assumed hours after which buying has cost less; None if unknown or never."""
        return self.months_until_cheaper_than(self.rent_usd_per_hour)

    def months_until_cheaper_than(self, rent_usd_per_hour: float | None) -> float | None:
        """Return the months of assumed hours after which buying has cost less than a rent.

        The rent may be that of other boards. None if unknown or never.
        """
        hours = self._hours_until_cheaper_than(rent_usd_per_hour)
        return None if hours is None else round(hours / self.assumptions.hours_per_month, 1)

    @property
    def cheaper(self) -> str | None:
        """The cheaper of "own" and "rent" over the time of the write-off, or None if unknown."""
        if None in (self.buy_usd, self.rent_usd_per_hour, self.electricity_usd_per_hour):
            return None
        hours = self.break_even_hours
        return "own" if hours is not None and hours <= self.assumptions.lifetime_hours else "rent"

    @property
    def lowest_usd_per_hour(self) -> float | None:
        """USD for an hour of work: the lower known price of renting and owning.

        A doubted price to buy counts only if no rent is known.
        """
        rented, owned = self.rent_usd_per_hour, self.owned_usd_per_hour
        if rented is None or owned is None:
            return owned if rented is None else rented
        return rented if self.buy_is_doubted else min(rented, owned)

    @property
    def lowest_usd_per_million_tokens(self) -> float | None:
        """USD for a million tokens at the lower known price of renting and owning."""
        return self._per_million_tokens(self.lowest_usd_per_hour)

    @property
    def usd_per_thousand_pictures(self) -> float | None:
        """USD for a thousand pictures or clips on rented boards, or None if unknown."""
        return self.of_thousand_pictures(self.rent_usd_per_hour)

    @property
    def lowest_usd_per_thousand_pictures(self) -> float | None:
        """USD for a thousand pictures or clips at the lower known price."""
        return self.of_thousand_pictures(self.lowest_usd_per_hour)

    def of_thousand_pictures(self, usd_per_hour: float | None) -> float | None:
        """Return USD for a thousand pictures or clips from the USD for an hour."""
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
        """Return notes on age, basis and gaps of the prices."""
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
    """Return costs of `boards` boards that generate `tokens_per_second` together.

    A model that draws states `seconds_per_picture` instead. The user's prices replace recorded
    ones. `today`, by default the current day, decides which prices are old.
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
    low, high = price.low_usd or price.usd, price.high_usd or price.usd
    count = len(price.providers)
    return Note("price_of_similar", count=count, usd=price.usd, low_usd=low, high_usd=high)
