"""The sources of prices, each with its path and the pure function that parses its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scrapers.error_mapping import HubResource
from scrapers.http import HubSession
from scrapers.http_response import HubRequest
from scrapers.limits import Limits
from scrapers.prices import dashboard, llmdev, skypilot, tracker
from scrapers.prices.purchase_rows import PurchaseRow
from scrapers.prices.rows import PriceRow
from scrapers.read_budget import ReadBudget

ENDPOINT = "https://raw.githubusercontent.com"


Row = TypeVar("Row", PriceRow, PurchaseRow)


@dataclass(frozen=True, slots=True)
class PriceSource(Generic[Row]):
    """One source of prices of one kind.

    Attributes:
        name: value of the column `source`.
        path: path of its file below the endpoint.
        shape: parses its body, with today's ISO date, to rows.
    """

    name: str
    path: str
    shape: Callable[[bytes, str], list[Row]]


SOURCES = (
    PriceSource(dashboard.NAME, dashboard.PATH, dashboard.shape),
    PriceSource(tracker.NAME, tracker.PATH, tracker.shape),
    PriceSource(skypilot.NAME, skypilot.PATH, skypilot.shape),
)
"""Sources of rental prices."""
PURCHASE_SOURCES = (PriceSource(llmdev.NAME, llmdev.PATH, llmdev.shape),)
"""Sources of prices to buy."""


def fetch(session: HubSession, source: PriceSource[Row], limits: Limits) -> bytes:
    """Read a source's body, within the limit of the API's answers. Raises ModelUnreadable."""
    request = HubRequest(session.endpoint + source.path, HubResource(source.name), "info_bytes")
    return session.get(request, ReadBudget(source.name, limits)).body
