"""RequestLog: what the emulator was asked, and how much of it at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from tests.hub_emulator.messages import Host, Request


@dataclass
class LoggedRequest:
    """One request and its answer; `status` is 0 while, or when, there is none."""

    method: str
    host: Host
    path: str
    query: str
    headers: dict[str, str]
    range: str | None
    status: int = 0
    body_bytes_sent: int = 0


class RequestLog:
    """The requests of both hosts in order of arrival, with counts of what was open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[LoggedRequest] = []
        self._waiting = 0
        self.peak_concurrency = 0
        self.connections = 0

    def snapshot(self) -> list[LoggedRequest]:
        """The requests so far."""
        with self._lock:
            return list(self._requests)

    def reset(self) -> None:
        """Start anew; requests still waiting for an answer count towards the next peak."""
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

    def answered(self) -> None:
        """Count a request as no longer waiting: its answer is about to be sent."""
        with self._lock:
            self._waiting -= 1
