"""Rental prices of a board: what providers ask, and what is likely to be paid.

Offers are rows of `data/rental_prices.csv`, refreshed by hand with `python -m scrapers.prices`;
`data/rental_labels.csv` says which boards a provider's label names. One label may name several
boards ("H100 80GB": SXM or PCIe); then the quote of each counts it and is not exact.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusizer.gpus import Gpu
from gpusizer.paths import DATA_DIR


@dataclass(frozen=True, slots=True)
class RentalOffer:
    """One provider's price for an hour of one board.

    Attributes:
        spot: may be taken away at any time.
        marketplace: the lowest offer of many private hosts, not a list price.
        exact: whether the provider's label names this board and no other.
        date: ISO date, or a bare year where the source gives no day.
    """

    provider: str
    usd_per_hour: float
    spot: bool
    marketplace: bool
    exact: bool
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class RentalQuote:
    """Prices of a board-hour in USD; None where nobody we know of offers it that way.

    Attributes:
        likely_usd: median over the providers that sell on demand at a price of their own, each
            counted once (with the median of its prices). Marketplaces and spot stay out.
        low_usd, high_usd: lowest and highest of those prices.
        spot_usd: lowest spot price outside marketplaces.
        marketplace_usd: lowest on-demand offer of a marketplace: a floor, not a price to plan with.
        providers: whose prices `likely_usd` stands on.
        exact: no label among them could also mean another board.
        as_of: date of the newest.
    """

    likely_usd: float | None
    low_usd: float | None
    high_usd: float | None
    spot_usd: float | None
    marketplace_usd: float | None
    providers: tuple[str, ...]
    exact: bool
    as_of: str | None
    sources: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        return {**asdict(self), "providers": list(self.providers), "sources": list(self.sources)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RentalQuote:
        tuples = {name: tuple(data[name]) for name in ("providers", "sources")}
        return cls(**{**data, **tuples})


def rental_quote(gpu: Gpu) -> RentalQuote | None:
    """The quote for one board of this GPU, None when nobody is known to rent it out.

    A board no provider of the table lists has the catalogue's own observation, if any.
    """
    listed = _quotes().get(gpu.slug)
    if listed is not None or gpu.rent is None:
        return listed
    provider = gpu.rent.source.split(maxsplit=1)[0]
    date, source = gpu.rent.date or "", gpu.rent.source
    return quote_of([RentalOffer(provider, gpu.rent.usd, False, False, True, date, source)])


def rent_usd_per_hour(gpu: Gpu) -> float | None:
    """The likely price of a board-hour, None when unknown: the one figure that answers quote."""
    quote = rental_quote(gpu)
    return None if quote is None else quote.likely_usd


def quote_of(offers: Sequence[RentalOffer]) -> RentalQuote:
    """What offers for the same board amount to."""
    listed = [one for one in offers if not one.spot and not one.marketplace]
    by_provider: dict[str, list[float]] = {}
    for one in listed:
        by_provider.setdefault(one.provider, []).append(one.usd_per_hour)
    prices = [one.usd_per_hour for one in listed]
    counted = listed or offers
    return RentalQuote(
        likely_usd=_rounded(_median(map(_median, by_provider.values()))) if listed else None,
        low_usd=min(prices, default=None),
        high_usd=max(prices, default=None),
        spot_usd=_lowest(one for one in offers if one.spot and not one.marketplace),
        marketplace_usd=_lowest(one for one in offers if one.marketplace and not one.spot),
        providers=tuple(sorted(by_provider)),
        exact=all(one.exact for one in counted),
        as_of=max((one.date for one in counted), default=None) or None,
        sources=tuple(sorted({one.source for one in counted})),
    )


def _median(prices: Iterable[float]) -> float:
    """Middle of some prices; `statistics` takes longer to load than all of them to read."""
    ordered = sorted(prices)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def read_offers(prices_csv: Path, labels_csv: Path) -> dict[str, list[RentalOffer]]:
    """Offers by slug. Labels excluded at the source name no slug. Raises KeyError on others."""
    boards = read_labels(labels_csv)
    offers: dict[str, list[RentalOffer]] = {}
    with prices_csv.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            slugs = boards[row["label"]]
            for slug in slugs:
                offers.setdefault(slug, []).append(_offer(row, exact=len(slugs) == 1))
    return offers


def read_labels(labels_csv: Path) -> dict[str, tuple[str, ...]]:
    """Label -> slugs it may name; none for labels that are known to be wrong or unusable."""
    with labels_csv.open(encoding="utf-8", newline="") as file:
        return {row["label"]: tuple(row["slugs"].split()) for row in csv.DictReader(file)}


def _offer(row: Mapping[str, str], exact: bool) -> RentalOffer:
    return RentalOffer(
        provider=row["provider"],
        usd_per_hour=float(row["usd_per_gpu_hour"]),
        spot=row["spot"] == "true",
        marketplace=row["marketplace"] == "true",
        exact=exact,
        date=row["date"],
        source=row["source"],
    )


@cache
def _quotes() -> dict[str, RentalQuote]:
    offers = read_offers(DATA_DIR / "rental_prices.csv", DATA_DIR / "rental_labels.csv")
    return {slug: quote_of(found) for slug, found in offers.items()}


def _lowest(offers: Iterable[RentalOffer]) -> float | None:
    return min((one.usd_per_hour for one in offers), default=None)


def _rounded(usd: float) -> float:
    return round(usd, 4)
