"""Bands: how far measurements lie from predictions, from `data/bands.csv`.

`python -m bench.bands` writes the table from the residuals of `data/measurements`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from gpusizer.amounts import Amount, Provenance
from gpusizer.paths import DATA_DIR
from gpusizer.units import GIB

TABLE = DATA_DIR / "bands.csv"
ANY = "any"
"""Family of the row that stands for versions without enough measurements of their own."""


@dataclass(frozen=True, slots=True)
class Band:
    """Where measured values lie, from the predicted one.

    Attributes:
        unit: "share" of the predicted value or "gib".
        low, high: the 5th and 95th percentile of measured less predicted, at most and at least 0.
        n: measurements behind it.
    """

    unit: str
    low: float
    high: float
    n: int

    def around(
        self, likely: float, provenance: Provenance, *, highest: float | None = None
    ) -> Amount:
        """An amount with this band; `highest` is a likely value of the worst variant."""
        top = max(likely, highest or 0.0)
        if self.unit == "share":
            low, high = likely * (1 + self.low), top * (1 + self.high)
        else:
            low, high = likely + self.low * GIB, top + self.high * GIB
        whole = round(likely)
        return Amount(min(whole, max(0, round(low))), whole, max(whole, round(high)), provenance)


@cache
def band(engine: str, family: str, component: str) -> Band:
    """The band of a component under an engine's family of versions, or of any version."""
    table = _table()
    return table.get((engine, family, component)) or table[engine, ANY, component]


@cache
def _table() -> dict[tuple[str, str, str], Band]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (row["engine"], row["family"], row["component"]): Band(
                row["unit"], float(row["low"]), float(row["high"]), int(row["n"])
            )
            for row in csv.DictReader(file)
        }
