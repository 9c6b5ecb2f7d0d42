"""Loss by a quantized KV cache: rows of data/quality_kv.csv, keys and values separately."""

# llama.cpp rotates the contents of a 4-bit cache since April 2026 (pull 21551), which removes most
# of the loss; a request for an older build gets the loss without rotation.

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.kv_cache import ALIASES

COLUMNS = ("type", "keys", "values", "high", "engines", "source")
# Starts of model types with a measured loss even at 8 bits: 0.11 KLD of Gemma-4-31B (localbench), a
# quarter of first choices of gpt-oss-20b (one reporter).
SENSITIVE = ("gemma4", "gpt_oss")


@dataclass(frozen=True, slots=True)
class CacheLoss:
    """Increase of perplexity by a cache as a share, likely and at most."""

    likely: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class _CacheType:
    keys: float
    values: float
    high: float
    engines: tuple[str, ...]
    source: str


@cache
def _types() -> dict[tuple[str, str], _CacheType]:
    def read(row: TableRow) -> tuple[str, _CacheType]:
        return row.text("type"), row.record(_CacheType, engines=row.parts("engines"))

    rows = read_table(DATA_DIR / "quality_kv.csv", read, COLUMNS)
    return {(name, engine): one for name, one in rows for engine in one.engines or ("",)}


def cache_loss(kv_dtype: str, engine: str, *, rotated: bool) -> CacheLoss:
    """Return the loss of a cache type: one for keys and values, or two separated by "/"."""
    keys, _, values = kv_dtype.partition("/")
    types, of_engine = _types(), engine if rotated else ""
    of_keys, of_values = (
        types.get((name, of_engine)) or types[name, ""]
        for name in (ALIASES.get(name, name) for name in (keys, values or keys))
    )
    return CacheLoss(
        of_keys.keys + of_values.values,
        of_keys.keys * of_keys.high + of_values.values * of_values.high,
        (of_keys if of_keys.keys else of_values).source,
    )
