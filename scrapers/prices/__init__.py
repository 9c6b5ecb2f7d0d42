"""Refreshes `data/rental_prices.csv` by hand (`python -m scrapers.prices`), never on request."""

from scrapers.prices.checks import PricesRefused, checked
from scrapers.prices.rows import PriceRow, read_labels, read_rows, write_rows
from scrapers.prices.sources import SOURCES, Source

__all__ = [
    "SOURCES",
    "PriceRow",
    "PricesRefused",
    "Source",
    "checked",
    "read_labels",
    "read_rows",
    "write_rows",
]
