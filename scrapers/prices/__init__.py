"""The command `python -m scrapers.prices`: refreshes the price tables of `data/generated/`.

The application itself never runs this package.
"""

from scrapers.prices.checks import PricesRefused, checked
from scrapers.prices.rows import PriceRow, read_labels, read_rows, write_rows
from scrapers.prices.sources import SOURCES, PriceSource

__all__ = [
    "SOURCES",
    "PriceRow",
    "PriceSource",
    "PricesRefused",
    "checked",
    "read_labels",
    "read_rows",
    "write_rows",
]
