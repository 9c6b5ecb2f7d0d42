"""Bands: how far measurements lie from predictions, from `data/generated/bands.csv`.

`python -m bench.bands` writes the table from the residuals of `data/measurements`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusizer.core.byte_ranges import Amount, Provenance
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GIB

TABLE = GENERATED_DIR / "bands.csv"
ANY = "any"
"""Family of the row that stands for versions without enough measurements of their own."""


@dataclass(frozen=True, slots=True)
class ResidualBand:
    """How far measured values lie from the predicted one.

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
        self,
        likely: float,
        provenance: Provenance,
        *,
        lowest: float | None = None,
        highest: float | None = None,
    ) -> Amount:
        """An amount of bytes with this band. `lowest` and `highest` are the likely values of the
        variants that need least and most, where there are several; the ends are reckoned from them.
        """
        bottom = likely if lowest is None else min(likely, lowest)
        top = max(likely, highest or 0.0)
        if self.unit == "share":
            low, high = bottom * (1 + self.low), top * (1 + self.high)
        else:
            low, high = bottom + self.low * GIB, top + self.high * GIB
        likely_bytes = round(likely)
        return Amount(
            min(likely_bytes, max(0, round(low))),
            likely_bytes,
            max(likely_bytes, round(high)),
            provenance,
        )


@cache
def band(engine: str, family: str, component: str) -> ResidualBand:
    """The band of a component under an engine's family of versions, or of any version."""
    table = _table()
    return table.get((engine, family, component)) or table[engine, ANY, component]


@cache
def _table() -> dict[tuple[str, str, str], ResidualBand]:
    return dict(read_table(TABLE, _keyed_band))


def _keyed_band(row: TableRow) -> tuple[tuple[str, str, str], ResidualBand]:
    key = row.text("engine"), row.text("family"), row.text("component")
    unit = row.one_of("unit", ("share", "gib"))
    return key, ResidualBand(unit, row.number("low"), row.number("high"), row.integer("n"))
