"""Whether a GPU is sold or rented out today, and whether its vendor's software still runs it.

`data/ended_support.csv` holds a row for each dropped architecture, with its source. A card without
support still runs older builds, and llama.cpp built with an older toolkit, but not new releases of
engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.gpus.costs.rental import rental_quote
from gpusizer.gpus.gpu import Gpu, Price
from gpusizer.gpus.purchase import is_old, last_day

# A board counts as commonly rented if this many providers have a price of their own.
FEWEST_PROVIDERS = 2

# Most years from launch to the newest price of a discontinued board that counts as sold. A round
# figure: it keeps the RTX 3090 of 2020, which people buy used, and ends before Turing.
MOST_YEARS = 6

# Statuses of boards sold everywhere: neither announced, nor for some markets alone, nor rebuilt
# after sale.
_SOLD = frozenset({"current", "eol"})


def firm_price(gpu: Gpu, today: date) -> Price | None:
    """Return today's price to buy, or None if it is old, doubted, of launch or an estimate."""
    price = gpu.street
    return None if price is None or gpu.price_is_doubted or is_old(price.date, today) else price


def is_sold(gpu: Gpu, today: date) -> bool:
    """Return whether boards are for sale at a price of the last year, new or not too old."""
    return firm_price(gpu, today) is not None and gpu.status in _SOLD and not _is_too_old(gpu)


def is_rented(gpu: Gpu) -> bool:
    """Return whether several providers rent the board out on demand at a price of their own."""
    quote = rental_quote(gpu)
    return quote is not None and len(quote.providers) >= FEWEST_PROVIDERS


def why_not_on_offer(gpu: Gpu, today: date) -> str:
    """Return why a board is neither sold nor commonly rented out today, or "".

    "special" (not sold everywhere, or rebuilt), "too_old" or "unpriced".
    """
    if is_sold(gpu, today) or is_rented(gpu):
        return ""
    if firm_price(gpu, today) is None:
        return "unpriced"
    return "too_old" if gpu.status in _SOLD else "special"


def _is_too_old(gpu: Gpu) -> bool:
    # A discontinued board launched too long before its newest price.
    if gpu.status == "current" or gpu.street is None or gpu.street.date is None:
        return False
    return last_day(gpu.street.date).year - gpu.release_year > MOST_YEARS


@dataclass(frozen=True, slots=True)
class EndedSupport:
    """The release of a software stack that dropped an architecture."""

    software: str
    architecture: str
    ended_with: str  # first release without it, such as "CUDA 13"
    since: str  # year and month of that release
    source: str  # public address


def ended_support(gpu: Gpu) -> EndedSupport | None:
    """Return the release that dropped this GPU's architecture, or None if it is supported."""
    return _rows().get((gpu.software, gpu.architecture))


def is_available(gpu: Gpu, today: date) -> bool:
    """Return whether it is sold or rented out today, and its vendor's software still runs it."""
    return ended_support(gpu) is None and not why_not_on_offer(gpu, today)


def read_ended_support() -> tuple[EndedSupport, ...]:
    """Return all rows. Raises MalformedTable for an unreadable cell."""
    return tuple(read_table(DATA_DIR / "ended_support.csv", lambda row: row.record(EndedSupport)))


@cache
def _rows() -> dict[tuple[str, str], EndedSupport]:
    return {(row.software, row.architecture): row for row in read_ended_support()}
