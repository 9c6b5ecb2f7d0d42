"""Bands: residuals of measurements around predictions, from `data/generated/bands.csv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusizer.core.byte_ranges import Amount, Provenance
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GIB

# `python -m bench.bands` writes the table from the residuals of `data/measurements`.
TABLE = GENERATED_DIR / "bands.csv"
ANY = "any"  # family of the row for versions without enough measurements of their own


@dataclass(frozen=True, slots=True)
class ResidualBand:
    """Residuals of measured values around the predicted one."""

    unit: str  # "share" of the predicted value or "gib"
    # low, high: the 5th and 95th percentile of measured less predicted, at most and at least 0.
    low: float
    high: float
    n: int  # measurements behind it

    def around(
        self,
        likely: float,
        provenance: Provenance,
        *,
        lowest: float | None = None,
        highest: float | None = None,
    ) -> Amount:
        """Return an amount of bytes with this band around `likely`.

        `lowest` and `highest`: likely values of the variants that need least and most.
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
    """Return the band of a component under a family of versions, or under any version."""
    table = _table()
    return table.get((engine, family, component)) or table[engine, ANY, component]


@cache
def _table() -> dict[tuple[str, str, str], ResidualBand]:
    return dict(read_table(TABLE, _keyed_band))


def _keyed_band(row: TableRow) -> tuple[tuple[str, str, str], ResidualBand]:
    key = row.text("engine"), row.text("family"), row.text("component")
    unit = row.one_of("unit", ("share", "gib"))
    return key, ResidualBand(unit, row.number("low"), row.number("high"), row.integer("n"))
