"""RedisEntries: the entries of the snapshot cache in a Redis that several processes share."""

from __future__ import annotations

from scrapers.redis_link import PREFIX, RedisLink

MAX_ENTRY_BYTES = 32_000_000
"""A longer entry is not ours; the largest snapshots have about 2 MB."""
_KEPT_SECONDS = 30 * 86_400
"""An entry that nobody wrote anew for so long is dropped; Redis's `maxmemory` bounds the rest."""


class RedisEntries:
    """Keys of a Redis, each with an expiry. While it is away, this is an empty store."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    def read(self, name: str) -> bytes | None:
        """The content of an entry, None if there is none or it is none of ours."""
        data = self._link.ask(
            lambda client: bytes(client.getrange(PREFIX + name, 0, MAX_ENTRY_BYTES)), None
        )
        return data if data and len(data) <= MAX_ENTRY_BYTES else None

    def write(self, name: str, data: bytes) -> None:
        """Store an entry whole, in place of an earlier one."""
        if len(data) <= MAX_ENTRY_BYTES:
            self._link.ask(lambda client: client.set(PREFIX + name, data, ex=_KEPT_SECONDS), None)

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        self._link.ask(lambda client: client.delete(PREFIX + name), None)
