"""Metrics and health of a running application for its operator, as `/healthz` shows them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from gpusizer.api.base import Document
from gpusizer.core.paths import code_version, data_version
from gpusizer.core.settings import Settings
from gpusizer.ui.server.answer_cache import AnswerCache
from gpusizer.ui.server.metrics import Metrics

_TOO_MANY_REQUESTS = 429
_FIRST_SERVER_ERROR = 500


class HubState:
    """Result of the last request to the Hub. Thread-safe."""

    def __init__(self, *, offline: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._idle_state = "offline" if offline else "not_asked"
        self._last: tuple[str, float] | None = None

    def hub_call(self, kind: str, status: int | None) -> None:
        """Record a request; one to its CDN tells nothing about the Hub."""
        if kind != "cdn":
            self._last = (_state_of(status), self._clock())

    def to_json(self) -> Document:
        """Return the state and its age: not_asked, offline, reached, limited or unreachable."""
        if self._last is None:
            return {"state": self._idle_state, "seconds_ago": None}
        state, moment = self._last
        return {"state": state, "seconds_ago": round(self._clock() - moment)}


class Monitor:
    """Metrics and the state of the Hub, by the settings of the process.

    `shared_is_reachable` asks the cache that several processes share; it returns None without one.
    """

    def __init__(
        self, settings: Settings, shared_is_reachable: Callable[[], bool | None] = lambda: None
    ) -> None:
        self.settings = settings
        self.shared_is_reachable = shared_is_reachable
        self.metrics = Metrics()
        self.hub = HubState(offline=settings.offline)

    def hub_call(self, kind: str, status: int | None) -> None:
        """Record a request to the Hub: its kind and the status of its answer."""
        self.metrics.hub_call(kind, status)
        self.hub.hub_call(kind, status)


def health_json(cache: AnswerCache, monitor: Monitor) -> Document:
    """Return the health of a process that answers requests; it names no path and no address.

    A process is ready without the shared cache, as it answers without it.
    """
    settings = monitor.settings
    return {
        "ready": True,
        "data_version": data_version(),
        "code_version": code_version(),
        "cache": {
            "answers": cache.answers,
            "bytes": cache.size_bytes,
            "disk": _disk_state(None if settings.cache_url else settings.cache_folder),
            "shared": _shared_state(monitor.shared_is_reachable()),
        },
        "hub": monitor.hub.to_json(),
    }


def _state_of(status: int | None) -> str:
    if status is None or status >= _FIRST_SERVER_ERROR:
        return "unreachable"
    return "limited" if status == _TOO_MANY_REQUESTS else "reached"


def _shared_state(is_reachable: bool | None) -> str:
    # Shared by several processes: "off", "reached" or "away".
    if is_reachable is None:
        return "off"
    return "reached" if is_reachable else "away"


def _disk_state(folder: Path | None) -> str:
    # "off", "writable" or "not_writable".
    if folder is None:
        return "off"
    parents = (folder, *folder.parents)
    nearest = next((path for path in parents if path.exists()), folder)
    return "writable" if os.access(nearest, os.W_OK) else "not_writable"
