"""HubAccess: what all readers of a process share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gpusizer.core.settings import Settings
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.cache.stored import cache_on_disk
from scrapers.client.allowance import HubAllowance, OnCall, ignore_call
from scrapers.client.http import HubSession

Value = TypeVar("Value")


class Flights(Protocol):
    """Decides which of several processes reads a model that all of them want."""

    def land(self, name: str, find: Callable[[], Value | None], read: Callable[[], Value]) -> Value:
        """Return what `read` returns, or what `find` returns after another process's `read`.

        Raises the ModelUnreadable of its own `read`.
        """
        ...


def _nothing_is_shared() -> None:
    return None


@dataclass(frozen=True, slots=True)
class HubAccess:
    """How anonymous reads of one Hub are shared.

    Attributes:
        allowance: how many more requests the Hub answers.
        cache: earlier readings; None if nothing is kept.
        flights: which process reads a model that several want; None where a process reads for
            itself.
        shared_is_reachable: asks whether the store that several processes share answers; returns
            None if each process has its own.
    """

    allowance: HubAllowance
    cache: SnapshotCache | None
    flights: Flights | None = None
    shared_is_reachable: Callable[[], bool | None] = _nothing_is_shared

    def open_session(self, settings: Settings, on_call: OnCall = ignore_call) -> HubSession:
        """A session with the Hub of these settings, which notes and obeys the allowance."""
        return HubSession(
            settings.endpoint,
            cdn_origins=settings.cdn_origins,
            on_call=on_call,
            allowance=self.allowance,
        )


def open_own_access(settings: Settings) -> HubAccess:
    """Return an access of this process alone, whose cache is the folder that the settings name."""
    return HubAccess(HubAllowance(), cache_on_disk(settings))
