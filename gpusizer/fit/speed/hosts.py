"""Hosts: what a step of a serving engine takes beside the GPU, release by release.

Before schedulers ran ahead of the GPU a step waited for the host; the table names the releases
that changed it. Engines without a row have no time of their own: that of local engines is part of
their time per layer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table

HOST_TABLE = DATA_DIR / "speed_hosts.csv"
CACHE_EFFICIENCY = 0.8
"""Cache is read at this share of the speed of weights where no row says otherwise. Chosen by
leave-one-out error over 0.5 to 0.9 (`python -m bench.throughput`): long-context runs on Llama-3 and
Qwen3."""

_NUMBER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

Release = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Host:
    """A release's host.

    Attributes:
        seconds: of a step in which the GPU waits for it.
        cache_efficiency: speed at which attention reads the cache, over that of weights.
    """

    seconds: float
    cache_efficiency: float


_NONE = Host(0.0, CACHE_EFFICIENCY)


@lru_cache(maxsize=256)
def host_of(engine: str, version: str | None) -> Host:
    """The host of an engine's release; of the newest where none is named."""
    eras = [(since, host) for name, since, host in _eras() if name == engine]
    if not eras:
        return _NONE
    named = _NUMBER.search(version or "")
    if named is None:
        return eras[-1][1]
    release = (int(named[1]), int(named[2]), int(named[3] or 0))
    return next((host for since, host in reversed(eras) if since <= release), eras[0][1])


@cache
def _eras() -> tuple[tuple[str, Release, Host], ...]:
    """Every row of the table, the oldest release of an engine first."""
    return read_table(HOST_TABLE, _era)


def _era(row: TableRow) -> tuple[str, Release, Host]:
    major, minor, patch = map(int, row.text("since").split("."))
    host = Host(row.number("host_seconds"), row.number("cache_efficiency"))
    return row.text("engine"), (major, minor, patch), host
