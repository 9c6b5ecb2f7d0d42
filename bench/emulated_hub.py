"""An emulated Hub in a process of its own, which takes no processor time from its clients."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from tests.hub_emulator.faults import Fault
from tests.hub_emulator.repos import FakeRepo
from tests.hub_emulator.server import HubEmulator


class Hub:
    """Control of the emulated Hub: its addresses and settings."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.endpoint: str
        self.cdn_endpoint: str
        self.endpoint, self.cdn_endpoint = pipe.recv()

    def reset(self, latency_seconds: float = 0.0) -> None:
        """Count from zero, with this latency of every request."""
        self._tell("reset", latency_seconds)

    def fail(self, *faults: Fault) -> None:
        """Fail in these ways, or in none."""
        self._tell("fail", faults)

    def requests(self) -> int:
        """Return the number of requests since the last `reset`, including those to the CDN."""
        return self._tell("count", None)

    def _tell(self, word: str, about: object) -> int:
        self._pipe.send((word, about))
        count: int = self._pipe.recv()
        return count


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
    # Until killed, by commands from the other end of the pipe.
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
            pipe.send(len(hub.requests))
