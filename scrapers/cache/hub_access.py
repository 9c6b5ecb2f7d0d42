"""HubAccess: cache, allowance and locks that all readers of a process share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gpusizer.core.settings import Settings
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.cache.stored import cache_on_disk
from scrapers.client.allowance import OnCall, RateLimitTracker, ignore_call
from scrapers.client.http import HubSession

Value = TypeVar("Value")


class SharedLock(Protocol):
    """Choice of the one process that reads a model which several processes request."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return the result of `read`, or of `find` after another process's `read`.

        Raises the ModelUnreadable of its own `read`.
        """
        ...


def _nothing_is_shared() -> None:
    return None


@dataclass(frozen=True, slots=True)
class HubAccess:
    """Shared state of anonymous reads of one Hub."""

    allowance: RateLimitTracker  # requests that the Hub still answers
    cache: SnapshotCache | None  # earlier snapshots; None without a cache
    # lock across processes; None if each process reads for itself
    flights: SharedLock | None = None
    # whether the store of several processes answers; None without one
    shared_is_reachable: Callable[[], bool | None] = _nothing_is_shared

    def open_session(self, settings: Settings, on_call: OnCall = ignore_call) -> HubSession:
        """Build a session with the Hub of these settings, which notes and obeys the allowance."""
        return HubSession(
            settings.endpoint,
            cdn_origins=settings.cdn_origins,
            on_call=on_call,
            allowance=self.allowance,
        )


def open_own_access(settings: Settings) -> HubAccess:
    """Return an access for this process alone, with the cache folder of the settings."""
    return HubAccess(RateLimitTracker(), cache_on_disk(settings))
