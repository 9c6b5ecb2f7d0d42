"""Estimates of prices: what similar boards cost, for a board of which no price is known.

Leaving out each board with a market price in turn, the median of the boards similar to it lies
within a factor of 1.3 of its own price for half of them and of 2.4 for nine of ten, and the range
holds its price for three of four (66 boards of November 2026). That is enough to tell hundreds
from thousands of dollars, and too little to order boards by.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from gpusizer.gpus.gpu import Gpu, Price

# Round limits, chosen with the counts above: memory within a factor of 1.4 estimates a third as
# many boards and no closer, bandwidth within a factor of 2 more of them to a factor of 1.5.
_MEMORY_FACTOR = 2.01
_BANDWIDTH_FACTOR = 1.5
_YEARS = 2
FEWEST = 3
"""Similar boards that an estimate takes at least."""


def similar_price(gpu: Gpu, priced: Iterable[Gpu]) -> Price | None:
    """The median price of the boards among `priced` that are similar to this one.

    None where fewer than `FEWEST` are. Prices on weak evidence and of launch count nowhere.
    """
    prices = {
        board.slug: board.market[0]
        for board in priced
        if board.market and not board.market[0].weak and is_similar(gpu, board)
    }
    if len(prices) < FEWEST:
        return None
    usd = [price.usd for price in prices.values()]
    return Price(
        usd=round(median(usd), 2),
        basis="similar",
        source=f"{len(usd)} similar boards",
        date=max(price.date or "" for price in prices.values()),
        low_usd=min(usd),
        high_usd=max(usd),
        providers=tuple(sorted(prices)),
    )


def is_similar(gpu: Gpu, other: Gpu) -> bool:
    """Whether another board of the vendor's segment is near in year, memory and bandwidth.

    Boards modified after sale are similar to none: their price is that of the work.
    """
    return (
        gpu.slug != other.slug
        and "modified" not in (gpu.status, other.status)
        and (gpu.vendor, gpu.segment) == (other.vendor, other.segment)
        and (gpu.form_factor == "laptop") == (other.form_factor == "laptop")
        and gpu.form_factor.startswith("PCIe") == other.form_factor.startswith("PCIe")
        and abs(gpu.release_year - other.release_year) <= _YEARS
        and _within(gpu.memory_bytes, other.memory_bytes, _MEMORY_FACTOR)
        and _within(
            gpu.bandwidth_bytes_per_second, other.bandwidth_bytes_per_second, _BANDWIDTH_FACTOR
        )
    )


def _within(amount: float | None, other: float | None, factor: float) -> bool:
    if not amount or not other:
        return False
    return max(amount, other) <= factor * min(amount, other)
