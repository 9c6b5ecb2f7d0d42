"""Whether somebody sells or rents out a GPU today, as far as dated prices tell, and whether the
vendor's own software still runs it.

`data/ended_support.csv` holds a row for each architecture that was left behind, with its source. A
card whose support has ended still runs older builds, and llama.cpp built with an older toolkit; new
releases of engines pass it by.
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

FEWEST_PROVIDERS = 2
"""Providers with a price of their own from which on a board counts as commonly rented out."""
MOST_YEARS = 6
"""Years from launch to the newest price within which a board that is no longer made counts as sold.
A round figure: it keeps the RTX 3090 of 2020, which everybody buys used, and ends before Turing."""

_SOLD = frozenset({"current", "eol"})
"""Statuses of boards that one can buy anywhere: neither announced, nor for some markets alone, nor
rebuilt after sale."""


def firm_price(gpu: Gpu, today: date) -> Price | None:
    """Today's price to buy, None for one that is old, doubted, of launch or an estimate."""
    price = gpu.street
    return None if price is None or gpu.price_is_doubted or is_old(price.date, today) else price


def is_sold(gpu: Gpu, today: date) -> bool:
    """Whether boards with a price of the last year are for sale, new or not too old."""
    return firm_price(gpu, today) is not None and gpu.status in _SOLD and not _is_too_old(gpu)


def is_rented(gpu: Gpu) -> bool:
    """Whether several providers rent the board out on demand at a price of their own."""
    quote = rental_quote(gpu)
    return quote is not None and len(quote.providers) >= FEWEST_PROVIDERS


def why_not_on_offer(gpu: Gpu, today: date) -> str:
    """Why a board is neither sold nor commonly rented out today: "special" (not sold everywhere, or
    rebuilt), "too_old" or "unpriced"; "" where it is.
    """
    if is_sold(gpu, today) or is_rented(gpu):
        return ""
    if firm_price(gpu, today) is None:
        return "unpriced"
    return "too_old" if gpu.status in _SOLD else "special"


def _is_too_old(gpu: Gpu) -> bool:
    """Whether a board that is no longer made was launched too long before its newest price."""
    if gpu.status == "current" or gpu.street is None or gpu.street.date is None:
        return False
    return last_day(gpu.street.date).year - gpu.release_year > MOST_YEARS


@dataclass(frozen=True, slots=True)
class EndedSupport:
    """The release of a software stack that no longer runs an architecture.

    Attributes:
        ended_with: the first release without it, such as "CUDA 13".
        since: year and month of that release.
        source: public address.
    """

    software: str
    architecture: str
    ended_with: str
    since: str
    source: str


def ended_support(gpu: Gpu) -> EndedSupport | None:
    """The release that left this GPU's architecture behind, None while it is supported."""
    return _rows().get((gpu.software, gpu.architecture))


def read_ended_support() -> tuple[EndedSupport, ...]:
    """Every row. Raises MalformedTable for an unreadable cell."""
    return tuple(read_table(DATA_DIR / "ended_support.csv", lambda row: row.record(EndedSupport)))


@cache
def _rows() -> dict[tuple[str, str], EndedSupport]:
    return {(row.software, row.architecture): row for row in read_ended_support()}
