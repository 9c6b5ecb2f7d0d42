"""RequestLog: the requests that the emulator got, and how many were open at the same time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.hub_emulator.messages import Host, Request


@dataclass
class LoggedRequest:
    """One request and its answer; `status` is 0 until there is an answer.

    `arrived_at` and `answered_at` are seconds of the monotonic clock; `answered_at` is infinite
    while the client waits.
    """

    method: str
    host: Host
    path: str
    query: str
    headers: dict[str, str]
    range: str | None
    status: int = 0
    body_bytes_sent: int = 0
    arrived_at: float = field(default_factory=time.monotonic)
    answered_at: float = math.inf


def round_trips(requests: Iterable[LoggedRequest]) -> int:
    """Count round trips: the longest chain of requests that do not overlap."""
    trips, free_at = 0, -math.inf
    for request in sorted(requests, key=lambda request: request.answered_at):
        if request.arrived_at >= free_at:
            trips, free_at = trips + 1, request.answered_at
    return trips


class RequestLog:
    """The requests of both hosts in order of arrival, with counts of open requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[LoggedRequest] = []
        self._waiting = 0
        self.peak_concurrency = 0
        self.connections = 0

    def snapshot(self) -> list[LoggedRequest]:
        """Return the requests so far."""
        with self._lock:
            return list(self._requests)

    def reset(self) -> None:
        """Clear the log; requests that still wait for an answer count towards the next peak."""
        with self._lock:
            self._requests = []
            self.peak_concurrency = self._waiting
            self.connections = 0

    def connected(self) -> None:
        """Count a connection."""
        with self._lock:
            self.connections += 1

    def arrived(self, request: Request) -> LoggedRequest:
        """Log a request that starts to wait."""
        logged = LoggedRequest(
            request.method,
            request.host,
            request.path,
            request.query,
            request.headers,
            request.headers.get("range"),
        )
        with self._lock:
            self._requests.append(logged)
            self._waiting += 1
            self.peak_concurrency = max(self.peak_concurrency, self._waiting)
        return logged

    def answered(self, logged: LoggedRequest) -> None:
        """Count a request as no longer waiting: its answer is about to be sent."""
        logged.answered_at = time.monotonic()
        with self._lock:
            self._waiting -= 1
