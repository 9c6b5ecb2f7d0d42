"""The sources: where each lies, and the pure function that shapes its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scrapers.http import HubSession, Wanted
from scrapers.limits import Limits
from scrapers.prices import dashboard, skypilot, tracker
from scrapers.prices.rows import PriceRow
from scrapers.reading import Reading
from scrapers.refusals import Asked

ENDPOINT = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Source:
    """One source of prices.

    Attributes:
        name: as in the column `source`.
        path: below the endpoint.
        shape: its body and today's ISO date to rows.
    """

    name: str
    path: str
    shape: Callable[[bytes, str], list[PriceRow]]


SOURCES = (
    Source(dashboard.NAME, dashboard.PATH, dashboard.shape),
    Source(tracker.NAME, tracker.PATH, tracker.shape),
    Source(skypilot.NAME, skypilot.PATH, skypilot.shape),
)


def fetch(session: HubSession, source: Source, limits: Limits) -> bytes:
    """The body, within the limits of the API's largest answers. Raises ModelUnreadable."""
    wanted = Wanted(session.endpoint + source.path, Asked(source.name), "info_bytes")
    return session.get(wanted, Reading(source.name, limits)).body
