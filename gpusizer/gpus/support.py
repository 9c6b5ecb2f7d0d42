"""Which architectures the vendors' own software has left behind, and with which release.

`data/ended_support.csv` holds a row for each with its source. A card whose support has ended still
runs older builds, and llama.cpp built with an older toolkit; new releases of engines pass it by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.gpus.gpu import Gpu


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
