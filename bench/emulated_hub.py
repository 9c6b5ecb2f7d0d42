"""An emulated Hub in a process of its own, which takes no processor time from who asks it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tests.hub_emulator.faults import Fault
from tests.hub_emulator.repos import FakeRepo
from tests.hub_emulator.server import HubEmulator


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a Hub was asked since it last counted from zero.

    Attributes:
        requests: those to the CDN and redirected ones among them.
        round_trips: the longest chain of requests that waited for one another.
        body_bytes: of all answers.
    """

    requests: int
    round_trips: int
    body_bytes: int


class Hub:
    """Controls the emulated Hub: its addresses, and what it can be told."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.endpoint: str
        self.cdn_endpoint: str
        self.endpoint, self.cdn_endpoint = pipe.recv()

    def reset(self, latency_seconds: float = 0.0) -> None:
        """Count from zero, with so much latency of every request."""
        self._tell("reset", latency_seconds)

    def fail(self, *faults: Fault) -> None:
        """Fail in these ways, or in none."""
        self._tell("fail", faults)

    def traffic(self) -> Traffic:
        """What was asked since the last `reset`."""
        return Traffic(*self._tell("traffic", None))

    def _tell(self, word: str, about: object) -> tuple[int, int, int]:
        self._pipe.send((word, about))
        told: tuple[int, int, int] = self._pipe.recv()
        return told


@contextmanager
def hub_process(build: Callable[[], Sequence[FakeRepo]]) -> Iterator[Hub]:
    """Run a Hub of the repositories that `build`, a function of a module, returns."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, build), daemon=True)
    process.start()
    try:
        yield Hub(ours)
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, build: Callable[[], Sequence[FakeRepo]]) -> None:
    """Serve until killed, and do what the other end of the pipe says."""
    with HubEmulator(build()) as hub:
        pipe.send((hub.endpoint, hub.cdn_endpoint))
        while True:
            word, about = pipe.recv()
            if word == "reset":
                hub.options.latency = about
                hub.reset_log()
            elif word == "fail":
                hub.faults.clear()
                for fault in about:
                    hub.faults.add(fault)
            sent = sum(request.body_bytes_sent for request in hub.requests)
            pipe.send((len(hub.requests), hub.round_trips, sent))
