"""Checks whether a source's new rows may replace its old ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scripts.prices.rows import AnyRow

# Bounds of a plausible price of a GPU-hour; marketplaces list hosts at $53 for an RTX 5090.
LOWEST_USD, HIGHEST_USD = 0.01, 60.0
# Bounds of a plausible price of a board: the cheapest known is $55 (K80), the dearest $55,000.
PURCHASE_BOUNDS_USD = (20.0, 100_000.0)

_LEAST_OLD_SHARE = 0.6  # share of a source's old rows; with fewer its format has probably changed
_LARGEST_IMPLAUSIBLE_SHARE = 0.05
_LEAST_KNOWN_SHARE = 0.7


class PricesRefused(Exception):
    """Raised if a source's response must not replace its old rows; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Rows that may be written, and labels that the table of labels does not have yet."""

    rows: tuple[AnyRow, ...]
    unknown_labels: tuple[str, ...]
    unbelievable: int


def checked(
    old_rows: Sequence[AnyRow],
    new_rows: Sequence[AnyRow],
    labels: Collection[str],
    today: str,
    bounds_usd: tuple[float, float] = (LOWEST_USD, HIGHEST_USD),
) -> Checked:
    """Return the rows of one source that may replace its old ones.

    Raises PricesRefused if too few rows are left, or if they are not newer.
    """
    # Rows with an implausible price or an unknown label are left out. `today` is an ISO date.
    lowest, highest = bounds_usd
    plausible = [row for row in new_rows if lowest <= row.price_usd <= highest]
    known_rows = [row for row in plausible if row.label in labels]
    unbelievable = len(new_rows) - len(plausible)
    if not new_rows:
        raise PricesRefused("no rows at all")
    if unbelievable > len(new_rows) * _LARGEST_IMPLAUSIBLE_SHARE:
        raise PricesRefused(f"{unbelievable} of {len(new_rows)} prices are beyond belief")
    if len(known_rows) < len(plausible) * _LEAST_KNOWN_SHARE:
        raise PricesRefused(f"only {len(known_rows)} of {len(plausible)} rows name a known GPU")
    if len(known_rows) < len(old_rows) * _LEAST_OLD_SHARE:
        raise PricesRefused(f"{len(known_rows)} rows where there were {len(old_rows)}")
    _check_dates(old_rows, known_rows, today)
    unknown = sorted({row.label for row in plausible} - set(labels))
    return Checked(tuple(known_rows), tuple(unknown), unbelievable)


def _check_dates(old_rows: Sequence[AnyRow], new_rows: Sequence[AnyRow], today: str) -> None:
    newest = max(row.date for row in new_rows)
    if newest > today:
        raise PricesRefused(f"dated {newest}, after today")
    last_date = max((row.date for row in old_rows), default="")
    if newest < last_date:
        raise PricesRefused(f"dated {newest}, older than {last_date}")
