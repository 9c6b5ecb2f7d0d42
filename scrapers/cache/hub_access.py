"""HubAccess: what all readers of a process share, and the cache of all with one Redis."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.settings import Settings
from scrapers.cache.redis_link import Flights, RedisEntries, RedisLink
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.cache.stored import cache_on_disk
from scrapers.client.allowance import HubAllowance, OnCall, ignore_call
from scrapers.client.http import HubSession

_STORING_SECONDS = 2.0
"""Time to store a model in the Redis, after it has been read."""


@dataclass(frozen=True, slots=True)
class HubAccess:
    """How anonymous reads of one Hub are shared.

    Attributes:
        allowance: how many more requests the Hub answers.
        cache: what was read; None where nothing is kept.
        flights: who reads a model that several want.
        link: the connection to the Redis that holds them; None where each process has its own.
    """

    allowance: HubAllowance
    cache: SnapshotCache | None
    flights: Flights
    link: RedisLink | None = None

    def open_session(self, settings: Settings, on_call: OnCall = ignore_call) -> HubSession:
        """A session with the Hub of these settings, which notes and obeys the allowance."""
        return HubSession(
            settings.endpoint,
            cdn_origins=settings.cdn_origins,
            on_call=on_call,
            allowance=self.allowance,
        )

    def shared_is_reachable(self) -> bool | None:
        """Whether the Redis answers; None where there is none."""
        return None if self.link is None else self.link.is_reachable


def open_access(settings: Settings) -> HubAccess:
    """By the settings: a Redis, else a folder on disk, else nothing that outlives the process.

    Raises InvalidRequest where the address of the Redis cannot be used.
    """
    endpoint = settings.endpoint
    if settings.cache_url is not None:
        link = RedisLink(settings.cache_url)
        cache = SnapshotCache(RedisEntries(link), endpoint)
        flights = Flights(link, settings.timeout_seconds + _STORING_SECONDS)
        return HubAccess(HubAllowance(), cache, flights, link)
    return HubAccess(HubAllowance(), cache_on_disk(settings), Flights())
