"""The sources of prices, each with its path and the pure function that parses its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scrapers.error_mapping import HubResource
from scrapers.http import HubSession
from scrapers.http_response import HubRequest
from scrapers.limits import Limits
from scrapers.prices import dashboard, skypilot, tracker
from scrapers.prices.rows import PriceRow
from scrapers.read_budget import ReadBudget

ENDPOINT = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class PriceSource:
    """One source of prices.

    Attributes:
        name: value of the column `source`.
        path: path of its file below the endpoint.
        shape: parses its body, with today's ISO date, to rows.
    """

    name: str
    path: str
    shape: Callable[[bytes, str], list[PriceRow]]


SOURCES = (
    PriceSource(dashboard.NAME, dashboard.PATH, dashboard.shape),
    PriceSource(tracker.NAME, tracker.PATH, tracker.shape),
    PriceSource(skypilot.NAME, skypilot.PATH, skypilot.shape),
)


def fetch(session: HubSession, source: PriceSource, limits: Limits) -> bytes:
    """Read a source's body, within the limit of the API's answers. Raises ModelUnreadable."""
    request = HubRequest(session.endpoint + source.path, HubResource(source.name), "info_bytes")
    return session.get(request, ReadBudget(source.name, limits)).body
