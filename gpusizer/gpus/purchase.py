"""Prices of boards today: a dated price of each, with its sources and range.

`data/purchase_prices.csv` holds rows that people edit, `data/generated/purchase_lists.csv` those
that `python -m scripts.prices` writes from published lists; `data/purchase_labels.csv` maps a label
of such a list to a board and its condition.

A price is the median over its sources, each counted once with the median of its own figures, as for
rents (`costs/rental.py`). Prices of 2026 rose within months (RTX 5090: $2,843 in July 2025, about
$5,000 in September 2026), so only figures of the last 120 days before the newest count.
Contradicted or doubted rows (`weak`) count only for boards without any other figure, a launch price
included.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from statistics import median

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.gpus.gpu import Condition, Gpu, Price

WINDOW = timedelta(days=120)  # figures this much older than a board's newest still count
YEAR = timedelta(days=365)  # a price older than this is called old

_CONDITIONS: dict[str, Condition] = {
    "new": "new",
    "used": "used",
    "refurbished": "used",
    "system": "system",
}


@dataclass(frozen=True, slots=True)
class PurchaseOffer:
    """One dated figure for one board, in US dollars."""

    condition: Condition  # "used" includes refurbished boards; "system" is a whole computer, new
    usd: float
    date: str  # ISO date, or year and month if the source gives no day
    weak: bool  # contradicted or doubted; counts only for a board without a better figure
    provider: str  # source of the figure; each source counts once under this name
    source: str  # public address


def street_price(offers: Sequence[PurchaseOffer]) -> Price | None:
    """Return today's price of the board with these figures, or None without any.

    Weak figures count only without others. The cheapest condition counts among those with figures
    as recent as the board's newest.
    """
    counted = [offer for offer in offers if not offer.weak] or offers
    by_condition: dict[Condition, list[PurchaseOffer]] = {}
    for offer in counted:
        by_condition.setdefault(offer.condition, []).append(offer)
    prices = [_price(_recent(group)) for group in by_condition.values()]
    newest = max((last_day(price.date or "") for price in prices), default=date.min)

    def place(price: Price) -> tuple[bool, float, str]:
        return newest - last_day(price.date or "") > WINDOW, price.usd, price.condition or ""

    return min(prices, key=place, default=None)


@lru_cache(1024)
def last_day(text: str) -> date:
    """Return the last day that an ISO date, a month or a year may mean.

    Raises ValueError for other texts.

    >>> last_day("2026-02").isoformat()
    '2026-02-28'
    """
    numbers = [int(part) for part in text.split("-")]
    if len(numbers) == 1:
        return date(numbers[0], 12, 31)
    if len(numbers) == 2:
        year, month = numbers
        return date(year, month, calendar.monthrange(year, month)[1])
    return date.fromisoformat(text)


def is_old(day: str | None, today: date) -> bool:
    """Return whether a price of that date is more than a year old; False without a date."""
    return day is not None and today - last_day(day) > YEAR


def current_day() -> date:
    """Return today's date in UTC, from which the age of prices is counted."""
    return datetime.now(UTC).date()


def read_offers(prices_csv: Path) -> dict[str, list[PurchaseOffer]]:
    """Return edited rows by slug of the board. Raises MalformedTable for an unreadable cell."""
    offers: dict[str, list[PurchaseOffer]] = {}
    for slug, offer in read_table(prices_csv, lambda row: (row.text("slug"), _offer(row))):
        offers.setdefault(slug, []).append(offer)
    return offers


def read_listed_offers(lists_csv: Path, labels_csv: Path) -> dict[str, list[PurchaseOffer]]:
    """Return offers of published lists by slug of the board, without excluded labels.

    Raises KeyError for a label that `labels_csv` lacks, MalformedTable for unreadable cells.
    """
    boards = read_boards(labels_csv)
    offers: dict[str, list[PurchaseOffer]] = {}

    def add(row: TableRow) -> None:
        slug, condition = boards[row.text("label")]
        if slug:
            offers.setdefault(slug, []).append(_listed_offer(row, _CONDITIONS[condition]))

    read_table(lists_csv, add)
    return offers


def read_boards(labels_csv: Path) -> dict[str, tuple[str, str]]:
    """Return slug and condition by label of a published list, both "" for an excluded label."""
    return dict(
        read_table(
            labels_csv,
            lambda row: (row.text("label"), (row.text("slug"), row.text("condition"))),
        )
    )


def with_prices(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """Return GPUs with their price to buy, or an estimate if they have none."""
    priced = tuple(map(_priced, gpus))
    return tuple(
        replace(gpu, similar=similar_price(gpu, priced)) if gpu.buy is None else gpu
        for gpu in priced
    )


def _priced(gpu: Gpu) -> Gpu:
    street, is_doubted = _prices().get(gpu.slug, (None, False))
    if is_doubted and gpu.launch is not None:
        return gpu
    return replace(gpu, street=street, price_is_doubted=is_doubted)


@cache
def _prices() -> dict[str, tuple[Price | None, bool]]:
    # Street price by slug, and whether all its figures are weak.
    edited = read_offers(DATA_DIR / "purchase_prices.csv")
    listed = read_listed_offers(
        GENERATED_DIR / "purchase_lists.csv", DATA_DIR / "purchase_labels.csv"
    )
    offers = {
        slug: (*edited.get(slug, ()), *listed.get(slug, ()))
        for slug in edited.keys() | listed.keys()
    }
    return {
        slug: (street_price(group), all(offer.weak for offer in group))
        for slug, group in offers.items()
    }


def _recent(offers: Sequence[PurchaseOffer]) -> list[PurchaseOffer]:
    newest = max(last_day(offer.date) for offer in offers)
    return [offer for offer in offers if newest - last_day(offer.date) <= WINDOW]


def _price(offers: Sequence[PurchaseOffer]) -> Price:
    by_provider: dict[str, list[float]] = {}
    for offer in offers:
        by_provider.setdefault(offer.provider, []).append(offer.usd)
    return Price(
        usd=round(median(map(median, by_provider.values())), 2),
        basis="street",
        source=", ".join(sorted(by_provider)),
        date=max((offer.date for offer in offers), key=last_day),
        condition=offers[0].condition,
        low_usd=min(offer.usd for offer in offers),
        high_usd=max(offer.usd for offer in offers),
        providers=tuple(sorted(by_provider)),
        addresses=tuple(sorted({offer.source for offer in offers})),
    )


def _offer(row: TableRow) -> PurchaseOffer:
    row.one_of("condition", tuple(_CONDITIONS))
    return row.record(PurchaseOffer, condition=_CONDITIONS[row.text("condition")])


def _listed_offer(row: TableRow, condition: Condition) -> PurchaseOffer:
    return PurchaseOffer(
        condition=condition,
        usd=row.number("usd"),
        date=row.text("date"),
        weak=False,
        provider=row.text("source"),
        source=row.text("address"),
    )


# Round limits, chosen with the counts above: memory within a factor of 1.4 estimates a third as
# many boards and no closer, bandwidth within a factor of 2 more of them to a factor of 1.5.
_MEMORY_FACTOR = 2.01
_BANDWIDTH_FACTOR = 1.5
_YEARS = 2
FEWEST = 3  # fewest similar boards for an estimate


def similar_price(gpu: Gpu, priced: Iterable[Gpu]) -> Price | None:
    """Return the median price of the boards among `priced` that are similar, or None.

    None if fewer than `FEWEST` are similar. Doubted prices and launch prices do not count. Leaving
    out each board with a street price in turn, the median of the boards similar to it lies within a
    factor of 1.3 of its own price for half of them and of 2.4 for nine of ten, and the range holds
    its price for three of four (66 boards of November 2026). That distinguishes hundreds from
    thousands of dollars, and is too rough to rank boards.
    """
    prices = {
        board.slug: board.street
        for board in priced
        if board.street and not board.price_is_doubted and is_similar(gpu, board)
    }
    if len(prices) < FEWEST:
        return None
    usd = [price.usd for price in prices.values()]
    return Price(
        usd=round(median(usd), 2),
        basis="similar",
        source=f"{len(usd)} similar boards",
        date=max(price.date or "" for price in prices.values()),
        low_usd=min(usd),
        high_usd=max(usd),
        providers=tuple(sorted(prices)),
    )


def is_similar(gpu: Gpu, other: Gpu) -> bool:
    """Return whether another board of the vendor's segment is near in year, memory and bandwidth.

    Boards modified after sale resemble no other: their price is that of the work.
    """
    return (
        gpu.slug != other.slug
        and "modified" not in (gpu.status, other.status)
        and (gpu.vendor, gpu.segment) == (other.vendor, other.segment)
        and (gpu.form_factor == "laptop") == (other.form_factor == "laptop")
        and gpu.form_factor.startswith("PCIe") == other.form_factor.startswith("PCIe")
        and abs(gpu.release_year - other.release_year) <= _YEARS
        and _within_factor(gpu.memory_bytes, other.memory_bytes, _MEMORY_FACTOR)
        and _within_factor(
            gpu.bandwidth_bytes_per_second, other.bandwidth_bytes_per_second, _BANDWIDTH_FACTOR
        )
    )


def _within_factor(amount: float | None, other: float | None, factor: float) -> bool:
    if not amount or not other:
        return False
    return max(amount, other) <= factor * min(amount, other)
