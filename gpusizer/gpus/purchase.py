"""Prices of boards today: a dated price of each, with its sources and spread.

`data/purchase_prices.csv` holds rows that people edit, `data/generated/purchase_lists.csv` those
that `python -m scripts.prices` writes from published lists; `data/purchase_labels.csv` says which
board a label of such a list means and in which condition.

A price is the median over its sources, each counted once with the median of its own figures, as
rents are (`costs/rental.py`). Prices of 2026 rose within months (RTX 5090: $2,843 in July 2025,
about $5,000 in September 2026), so only figures of the last 120 days before the newest count. Rows
that are contradicted or doubted (`weak`) count only for boards of which nothing else is known, a
price of launch included.
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

WINDOW = timedelta(days=120)
"""How far before the newest figure of a board an older one still counts."""
YEAR = timedelta(days=365)
"""A price dated earlier than this before today is said to be old."""

_CONDITIONS: dict[str, Condition] = {
    "new": "new",
    "used": "used",
    "refurbished": "used",
    "system": "system",
}


@dataclass(frozen=True, slots=True)
class PurchaseOffer:
    """One dated figure for one board, in US dollars.

    Attributes:
        condition: "used" includes refurbished boards; "system" is a whole computer, new.
        date: ISO date, or year and month where the source gives no day.
        weak: contradicted or doubted; counts only for a board that has nothing better.
        provider: whose figure it is; a source counts once under this name.
        source: public address.
    """

    condition: Condition
    usd: float
    date: str
    weak: bool
    provider: str
    source: str


def street_price(offers: Sequence[PurchaseOffer]) -> Price | None:
    """Today's price of the board that these figures are of, None without any.

    Weak figures count only where there is nothing else. The cheapest condition counts, of those
    whose figures are as recent as the board's newest.
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
    """The last day that an ISO date, a month or a bare year may mean.

    Raises ValueError for anything else.

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
    """Whether a price of that date is more than a year old; one without a date is not."""
    return day is not None and today - last_day(day) > YEAR


def current_day() -> date:
    """Today, by which prices are said to be old."""
    return datetime.now(UTC).date()


def read_offers(prices_csv: Path) -> dict[str, list[PurchaseOffer]]:
    """Edited rows by slug of the board. Raises MalformedTable for an unreadable cell."""
    offers: dict[str, list[PurchaseOffer]] = {}
    for slug, offer in read_table(prices_csv, lambda row: (row.text("slug"), _offer(row))):
        offers.setdefault(slug, []).append(offer)
    return offers


def read_listed_offers(lists_csv: Path, labels_csv: Path) -> dict[str, list[PurchaseOffer]]:
    """Offers of published lists by slug of the board; excluded labels have no slug.

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
    """Label of a published list -> slug and condition, both "" for a label that is excluded."""
    return dict(
        read_table(
            labels_csv,
            lambda row: (row.text("label"), (row.text("slug"), row.text("condition"))),
        )
    )


def with_prices(gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """GPUs with what they cost to buy, or an estimate where nothing is known of that."""
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
    """Slug of a board -> its street price, and whether all its figures are weak."""
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
    """The price that figures for one board in one condition amount to."""
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
FEWEST = 3
"""Similar boards that an estimate takes at least."""


def similar_price(gpu: Gpu, priced: Iterable[Gpu]) -> Price | None:
    """The median price of the boards among `priced` that are similar to this one.

    Leaving out each board with a street price in turn, the median of the boards similar to it lies
    within a factor of 1.3 of its own price for half of them and of 2.4 for nine of ten, and the
    range holds its price for three of four (66 boards of November 2026). That is enough to tell
    hundreds from thousands of dollars, and too little to order boards by.

    None where fewer than `FEWEST` are. Doubted prices and those of launch count nowhere.
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
    """Whether another board of the vendor's segment is near in year, memory and bandwidth.

    Boards modified after sale are similar to none: their price is that of the work.
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
