"""Rental prices of a board: providers' offers and the likely price.

Offers are rows of `data/generated/rental_prices.csv`, which `python -m scripts.prices` writes;
`data/rental_labels.csv` maps a provider's label to boards. If one label may name several boards
("H100 80GB": SXM or PCIe), the quote of each counts it and is not exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.gpus import Gpu


@dataclass(frozen=True, slots=True)
class RentalOffer:
    """One provider's price for an hour of one board."""

    provider: str
    usd_per_hour: float
    spot: bool  # the provider may take it away at any time
    marketplace: bool  # the lowest offer of many private hosts, not a list price
    exact: bool  # the provider's label names this board and no other
    date: str  # ISO date, or a year if the source gives no day
    source: str


@dataclass(frozen=True, slots=True)
class RentalQuote:
    """Prices of a board-hour in USD; None if no known provider offers it that way.

    `likely_usd` is the median over providers that sell on demand at a price of their own, without
    marketplaces and spot, `low_usd` and `high_usd` the ends of those prices. `exact`: none of their
    labels could mean another board too. `own`: it is the user's own price.
    """

    likely_usd: float | None
    low_usd: float | None
    high_usd: float | None
    spot_usd: float | None = None  # lowest spot price outside marketplaces
    # lowest on-demand offer of a marketplace: a floor, not a price to plan with
    marketplace_usd: float | None = None
    providers: tuple[str, ...] = ()  # providers counted in `likely_usd`
    exact: bool = True  # no label among them could also mean another board
    as_of: str | None = None  # newest date
    sources: tuple[str, ...] = ()
    own: bool = False


def rental_quote(gpu: Gpu) -> RentalQuote | None:
    """Return the quote for one board of this GPU, or None if no provider is known.

    A board that no provider of the table lists has the catalogue's own observation, if any.
    """
    listed = _quotes().get(gpu.slug)
    if listed is not None or gpu.rent is None:
        return listed
    provider = gpu.rent.source.split(maxsplit=1)[0]
    date, source = gpu.rent.date or "", gpu.rent.source
    return quote_of([RentalOffer(provider, gpu.rent.usd, False, False, True, date, source)])


def rent_usd_per_hour(gpu: Gpu) -> float | None:
    """Return the likely price of a board-hour in USD, or None if unknown. Answers quote it."""
    quote = rental_quote(gpu)
    return None if quote is None else quote.likely_usd


def own_quote(usd_per_hour: float) -> RentalQuote:
    """Return the user's own price of a board-hour as a quote."""
    return RentalQuote(usd_per_hour, usd_per_hour, usd_per_hour, own=True)


def quote_of(offers: Sequence[RentalOffer]) -> RentalQuote:
    """Summarise the offers for one board."""
    listed = [offer for offer in offers if not offer.spot and not offer.marketplace]
    by_provider: dict[str, list[float]] = {}
    for offer in listed:
        by_provider.setdefault(offer.provider, []).append(offer.usd_per_hour)
    prices = [offer.usd_per_hour for offer in listed]
    counted = listed or offers
    return RentalQuote(
        likely_usd=round(median(map(median, by_provider.values())), 4) if listed else None,
        low_usd=min(prices, default=None),
        high_usd=max(prices, default=None),
        spot_usd=_lowest(offer for offer in offers if offer.spot and not offer.marketplace),
        marketplace_usd=_lowest(offer for offer in offers if offer.marketplace and not offer.spot),
        providers=tuple(sorted(by_provider)),
        exact=all(offer.exact for offer in counted),
        as_of=max((offer.date for offer in counted), default=None) or None,
        sources=tuple(sorted({offer.source for offer in counted})),
    )


def read_offers(prices_csv: Path, labels_csv: Path) -> dict[str, list[RentalOffer]]:
    """Return offers by slug of the board, without those of unusable labels.

    Raises KeyError for a label that `labels_csv` lacks, MalformedTable for unreadable cells.
    """
    boards = read_labels(labels_csv)

    def labelled_offer(row: TableRow) -> tuple[tuple[str, ...], RentalOffer]:
        slugs = boards[row.text("label")]
        usd, exact = row.number("usd_per_gpu_hour"), len(slugs) == 1
        return slugs, row.record(RentalOffer, usd_per_hour=usd, exact=exact)

    offers: dict[str, list[RentalOffer]] = {}
    for slugs, offer in read_table(prices_csv, labelled_offer):
        for slug in slugs:
            offers.setdefault(slug, []).append(offer)
    return offers


def read_labels(labels_csv: Path) -> dict[str, tuple[str, ...]]:
    """Return the slugs that each label may name; none for wrong or unusable labels."""
    return dict(read_table(labels_csv, lambda row: (row.text("label"), row.parts("slugs"))))


@cache
def _quotes() -> dict[str, RentalQuote]:
    offers = read_offers(GENERATED_DIR / "rental_prices.csv", DATA_DIR / "rental_labels.csv")
    return {slug: quote_of(board_offers) for slug, board_offers in offers.items()}


def _lowest(offers: Iterable[RentalOffer]) -> float | None:
    return min((offer.usd_per_hour for offer in offers), default=None)
