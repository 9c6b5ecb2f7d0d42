"""Whether what a source says may replace what it said before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scrapers.prices.rows import PriceRow

LOWEST_USD, HIGHEST_USD = 0.01, 60.0
"""Bounds of a believable price for a GPU-hour; marketplaces list hosts at $53 for an RTX 5090."""

_LEAST_OF_BEFORE = 0.6  # share of the rows it had: fewer, and its format has probably changed
_MOST_UNBELIEVABLE = 0.05
_LEAST_KNOWN = 0.7


class PricesRefused(Exception):
    """A source's answer must not replace the rows it gave before; the text says why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Rows that may be written, and labels that `rental_labels.csv` does not have yet."""

    rows: tuple[PriceRow, ...]
    unknown_labels: tuple[str, ...]
    unbelievable: int


def checked(
    before: Sequence[PriceRow], after: Sequence[PriceRow], labels: Collection[str], today: str
) -> Checked:
    """The rows of one source that may replace those it gave before.

    Rows with an unbelievable price or an unknown label are left out. `today` is an ISO date.
    Raises PricesRefused when too few are left, or when they are not newer.
    """
    believable = [row for row in after if LOWEST_USD <= row.usd_per_gpu_hour <= HIGHEST_USD]
    known = [row for row in believable if row.label in labels]
    unbelievable = len(after) - len(believable)
    if not after:
        raise PricesRefused("no rows at all")
    if unbelievable > len(after) * _MOST_UNBELIEVABLE:
        raise PricesRefused(f"{unbelievable} of {len(after)} prices are beyond belief")
    if len(known) < len(believable) * _LEAST_KNOWN:
        raise PricesRefused(f"only {len(known)} of {len(believable)} rows name a known GPU")
    if len(known) < len(before) * _LEAST_OF_BEFORE:
        raise PricesRefused(f"{len(known)} rows where there were {len(before)}")
    _check_dates(before, known, today)
    unknown = sorted({row.label for row in believable} - set(labels))
    return Checked(tuple(known), tuple(unknown), unbelievable)


def _check_dates(before: Sequence[PriceRow], after: Sequence[PriceRow], today: str) -> None:
    newest = max(row.date for row in after)
    if newest > today:
        raise PricesRefused(f"dated {newest}, after today")
    last = max((row.date for row in before), default="")
    if newest < last:
        raise PricesRefused(f"dated {newest}, older than {last}")
