"""Bands of servers: how far measurements lie from predictions, by what the load is like."""

from __future__ import annotations

from functools import cache

from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.fit.speed.rate import RateBand

BAND_TABLE = GENERATED_DIR / "serving_bands.csv"
RATE, EACH, FIRST = "served_rate", "served_each", "served_first"
EVERY = "every"
_FEW = 4


def regime_of(users: float | None, requests_per_second: float | None, admitted: int) -> str:
    """What a load is like: "random" arrivals, "few" users, a "queue" of more than are admitted,
    or "many"."""
    if requests_per_second is not None or users is None:
        return "random"
    if users > admitted:
        return "queue"
    return "few" if users <= _FEW else "many"


def serving_band(quantity: str, regime: str) -> RateBand:
    """Measured over predicted, of that load or of every one."""
    table = _bands()
    return table.get((quantity, regime)) or table[quantity, EVERY]


@cache
def _bands() -> dict[tuple[str, str], RateBand]:
    return dict(read_table(BAND_TABLE, _row))


def _row(row: TableRow) -> tuple[tuple[str, str], RateBand]:
    key = row.one_of("quantity", (RATE, EACH, FIRST)), row.text("regime")
    return key, RateBand(row.number("low"), row.number("high"))
