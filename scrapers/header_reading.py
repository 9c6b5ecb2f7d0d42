"""The header of a safetensors file, read in one range or two."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.http_response import ReadRange
from scrapers.limits import Limits
from scrapers.safetensors_header import header_end, parse_header

Header = tuple[tuple[TensorGroup, ...], int | None]
"""Tensors of a file, and the size of the whole file in bytes where an answer said it.

They are grouped at once: a list of them is a hundred times as large.
"""


class HeldBytes:
    """Room for headers that have come and wait to be parsed. Safe to share between threads."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._lock = threading.Lock()

    def hold(self, count: int) -> bool:
        """Whether there is room for so many bytes; it is taken."""
        with self._lock:
            if count > self._left:
                return False
            self._left -= count
            return True

    def release(self, count: int) -> None:
        """Give room back."""
        with self._lock:
            self._left += count


class ArrivedHeader:
    """A header whose start came, parsed when it is asked for; its bytes are let go then.

    Threads that read would only take the interpreter from one another, and one parses headers
    in less time and memory: it has one of them in pieces at a time.
    """

    def __init__(
        self, whole: Callable[[], bytes], file_bytes: int | None, held: HeldBytes, held_bytes: int
    ) -> None:
        self._whole = whole
        self._file_bytes = file_bytes
        self._held = held
        self._held_bytes = held_bytes
        self._parsed: Header | None = None

    def parsed(self, repo_id: str, path: str) -> Header:
        """Its tensors. Raises as `parse_header` and `whole` do."""
        if self._parsed is None:
            entries = parse_header(self._whole(), self._file_bytes, repo_id, path)
            self._parsed = group_entries(entries), self._file_bytes
            self._whole = bytes
            self._held.release(self._held_bytes)
        return self._parsed


def read_header(
    read: ReadRange, path: str, first_bytes: int, limits: Limits, repo_id: str, held: HeldBytes
) -> tuple[ArrivedHeader, str | None]:
    """The header of a file and the commit it was read at; `first_bytes` are read at first.

    The rest of a long header waits until it is asked for: it may be as long as a stranger
    likes, and many at once would take many times their size. What `held` has no room for is
    read again then.

    Raises as `header_end` does, and HubUnreachable ("truncated"); so may parsing a long one.
    """
    first = read(path, (0, first_bytes), None)
    end = header_end(first.body, first.total_bytes, repo_id, path, limits)

    is_long = end > max(limits.long_header_bytes, len(first.body))
    url, file_bytes, commit = first.url, first.total_bytes, first.commit
    wanted = len(first.body) if is_long else end
    start = first.body[:end] if held.hold(wanted) else b""
    held_bytes = wanted if start else 0
    del first

    def whole() -> bytes:
        data = start
        if end > len(data):
            # From where the first answer came: that spares the Hub's redirect.
            data += read(path, (len(data), end), url).body
        if end > len(data):
            raise HubUnreachable(repo_id=repo_id, reason="truncated")
        return data[:end]

    if is_long or not start:
        return ArrivedHeader(whole, file_bytes, held, held_bytes), commit
    data = whole()
    return ArrivedHeader(lambda: data, file_bytes, held, held_bytes), commit
