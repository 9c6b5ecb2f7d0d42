"""Sources of prices, each with its path and the pure function that parses its response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import Limits
from scripts.prices import dashboard, llmdev, skypilot, tracker
from scripts.prices.checks import HIGHEST_USD, LOWEST_USD, PURCHASE_BOUNDS_USD
from scripts.prices.rows import AnyRow, PriceRow, PurchaseRow

ENDPOINT = "https://raw.githubusercontent.com"
# The first line of a table is shorter.
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class PriceSource:
    """One source of prices of one kind."""

    name: str  # value of the column `source`
    path: str  # path of its file below the endpoint
    # parses its body, with today's ISO date, to rows
    shape: Callable[[bytes, str], Sequence[AnyRow]]
    # how much is read of the end of a table that grows, below its first line; None reads the whole
    # file
    tail_bytes: int | None = None


# Sources of rental prices.
SOURCES = (
    PriceSource(dashboard.NAME, dashboard.PATH, dashboard.shape),
    PriceSource(tracker.NAME, tracker.PATH, tracker.shape, tracker.TAIL_BYTES),
    PriceSource(skypilot.NAME, skypilot.PATH, skypilot.shape),
)
# Sources of prices to buy.
PURCHASE_SOURCES = (PriceSource(llmdev.NAME, llmdev.PATH, llmdev.shape),)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A generated table of prices of one kind, and its sources."""

    file: str  # its name in `data/generated/`
    labels: str  # name of the table of its labels in `data/`
    kind: type[AnyRow]
    sources: tuple[PriceSource, ...]
    bounds_usd: tuple[float, float]  # least and highest plausible price


TABLES = (
    PriceTable(
        *("rental_prices.csv", "rental_labels.csv", PriceRow), SOURCES, (LOWEST_USD, HIGHEST_USD)
    ),
    PriceTable(
        *("purchase_lists.csv", "purchase_labels.csv", PurchaseRow),
        PURCHASE_SOURCES,
        PURCHASE_BOUNDS_USD,
    ),
)


def fetch(session: HubSession, source: PriceSource, limits: Limits) -> bytes:
    """Read a source's body, within the limit of the API's responses. Raises ModelUnreadable."""
    request = HubRequest(session.endpoint + source.path, HubResource(source.name), "info_bytes")
    budget = ReadBudget(source.name, limits)
    if source.tail_bytes is None:
        return session.get(request, budget).body
    start = session.get(replace(request, span=(0, _HEAD_BYTES)), budget)
    total_bytes = start.total_bytes
    if total_bytes is None or total_bytes <= source.tail_bytes:
        return session.get(request, budget).body
    end = session.get(replace(request, span=(total_bytes - source.tail_bytes, total_bytes)), budget)
    head, _, _ = start.body.partition(b"\n")
    _, _, lines = end.body.partition(b"\n")  # the first line may have lost its beginning
    return head + b"\n" + lines
