"""Checks whether a source's new rows may replace its old ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

LOWEST_USD, HIGHEST_USD = 0.01, 60.0
"""Bounds of a plausible price of a GPU-hour; marketplaces list hosts at $53 for an RTX 5090."""
PURCHASE_BOUNDS_USD = (20.0, 100_000.0)
"""Bounds of a plausible price of a board: the cheapest known is $55 (K80), the dearest $55,000."""

_LEAST_OF_BEFORE = 0.6  # share of a source's old rows; with fewer its format has probably changed
_MOST_UNBELIEVABLE = 0.05
_LEAST_KNOWN = 0.7


class PricesRefused(Exception):
    """A source's answer must not replace its old rows; the message says why."""


class PricedRow(Protocol):
    """What rows of every kind of price have in common."""

    @property
    def label(self) -> str: ...
    @property
    def date(self) -> str: ...
    @property
    def price_usd(self) -> float: ...


Row = TypeVar("Row", bound=PricedRow)


@dataclass(frozen=True, slots=True)
class Checked(Generic[Row]):
    """Rows that may be written, and labels that the table of labels does not have yet."""

    rows: tuple[Row, ...]
    unknown_labels: tuple[str, ...]
    unbelievable: int


def checked(
    before: Sequence[Row],
    after: Sequence[Row],
    labels: Collection[str],
    today: str,
    bounds_usd: tuple[float, float] = (LOWEST_USD, HIGHEST_USD),
) -> Checked[Row]:
    """Return the rows of one source that may replace its old ones.

    Rows with an implausible price or an unknown label are left out. `today` is an ISO date.
    Raises PricesRefused when too few rows are left, or when they are not newer.
    """
    lowest, highest = bounds_usd
    believable = [row for row in after if lowest <= row.price_usd <= highest]
    known_rows = [row for row in believable if row.label in labels]
    unbelievable = len(after) - len(believable)
    if not after:
        raise PricesRefused("no rows at all")
    if unbelievable > len(after) * _MOST_UNBELIEVABLE:
        raise PricesRefused(f"{unbelievable} of {len(after)} prices are beyond belief")
    if len(known_rows) < len(believable) * _LEAST_KNOWN:
        raise PricesRefused(f"only {len(known_rows)} of {len(believable)} rows name a known GPU")
    if len(known_rows) < len(before) * _LEAST_OF_BEFORE:
        raise PricesRefused(f"{len(known_rows)} rows where there were {len(before)}")
    _check_dates(before, known_rows, today)
    unknown = sorted({row.label for row in believable} - set(labels))
    return Checked(tuple(known_rows), tuple(unknown), unbelievable)


def _check_dates(before: Sequence[PricedRow], after: Sequence[PricedRow], today: str) -> None:
    newest = max(row.date for row in after)
    if newest > today:
        raise PricesRefused(f"dated {newest}, after today")
    last_date = max((row.date for row in before), default="")
    if newest < last_date:
        raise PricesRefused(f"dated {newest}, older than {last_date}")
