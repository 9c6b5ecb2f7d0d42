"""A server whose doors are used for long, well and badly, keeps its memory.

By day some rounds of the same visits; at night as many as half an hour holds, with other questions
each time. `python -m tests.soak.test_soak SECONDS` prints what the server takes.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.nightly import NIGHTLY
from tests.soak.doors import Doors
from tests.soak.honest import Honest
from tests.soak.rude import Rude
from tests.soak.server import SoakedApp, composed

ROUNDS_BY_DAY = 9
SECONDS_AT_NIGHT = 1_800.0
_TIMEOUT_SECONDS = 120.0

# number and interval of looks whether the connections of a round are gone
_LOOKS, _LOOK_SECONDS = 200, 0.1
_THREADS_APART = 6


@dataclass(frozen=True)
class Seen:
    """The system's view of the server after a round, when its visitors have left."""

    resident_bytes: int
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Soaked:
    """Views after each round, and the statuses of all answers."""

    seen: list[Seen]
    statuses: Counter[int]

    @property
    def first(self) -> list[Seen]:
        """The first third, in which caches fill."""
        return self.seen[: len(self.seen) // 3]

    @property
    def later(self) -> list[Seen]:
        """The other rounds."""
        return self.seen[len(self.seen) // 3 :]


async def soak(
    app: SoakedApp, rounds: int, seconds: float = 0.0, *, is_varied: bool = False
) -> Soaked:
    """Let visitors come in `rounds` rounds, and in more until `seconds` have passed."""
    doors = Doors(app.address)
    honest, rude = Honest(doors, is_varied=is_varied), Rude(doors, app.port)
    at_rest, seen, end = app.descriptors(), list[Seen](), time.monotonic() + seconds
    while len(seen) < rounds or time.monotonic() < end:
        async with doors.opened(_TIMEOUT_SECONDS):
            await asyncio.gather(*honest.visits(), *rude.visits())
            await rude.leave()
        for _ in range(_LOOKS):
            if app.descriptors() <= at_rest:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        seen.append(Seen(app.resident_bytes(), app.descriptors(), app.threads()))
        print(len(seen), seen[-1], doors.statuses.total(), flush=True)
    return Soaked(seen, doors.statuses)


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soaked]:
    with composed(tmp_path_factory.mktemp("soak")) as app:
        seconds = SECONDS_AT_NIGHT if NIGHTLY else 0.0
        yield asyncio.run(soak(app, ROUNDS_BY_DAY, seconds, is_varied=NIGHTLY))


def test_memory_stays(soaked: Soaked) -> None:
    settled = soaked.first[-1].resident_bytes
    most = max(seen.resident_bytes for seen in soaked.later)
    assert most <= 1.1 * settled, soaked.seen


def test_connections_are_given_back(soaked: Soaked) -> None:
    at_first = max(seen.descriptors for seen in soaked.first)
    assert all(seen.descriptors <= at_first for seen in soaked.later), soaked.seen


def test_threads_stay(soaked: Soaked) -> None:
    """Threads that have nothing to do end after ten seconds, so that their number varies."""
    at_first = max(seen.threads for seen in soaked.first)
    assert all(seen.threads <= at_first + _THREADS_APART for seen in soaked.later), soaked.seen


def test_nothing_fails(soaked: Soaked) -> None:
    failures = {status for status in soaked.statuses if status >= 500} - {503}
    assert failures == set(), soaked.statuses
    assert soaked.statuses[200] > soaked.statuses.total() / 2


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as text, composed(Path(text)) as running:
        met = asyncio.run(soak(running, ROUNDS_BY_DAY, float(sys.argv[1]), is_varied=True))
        print(met.statuses)
