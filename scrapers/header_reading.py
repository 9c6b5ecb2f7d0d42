"""The header of a safetensors file, read in one range or two."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.errors import HubUnreachable
from gpusizer.tensors import TensorGroup, group_entries
from scrapers.http import ReadRange
from scrapers.limits import Limits
from scrapers.safetensors_header import header_end, parse_header

Header = tuple[tuple[TensorGroup, ...], int | None]
"""Tensors of a file, and the size of the whole file in bytes where an answer said it.

They are grouped at once: a list of them is a hundred times as large.
"""


class ArrivedHeader:
    """A header whose start came, parsed when it is asked for; its bytes are let go then.

    Threads that read would only take the interpreter from one another, and one parses headers
    in less time and memory: it has one of them in pieces at a time.
    """

    def __init__(self, whole: Callable[[], bytes], file_bytes: int | None) -> None:
        self._whole = whole
        self._file_bytes = file_bytes
        self._parsed: Header | None = None

    def parsed(self, repo_id: str, path: str) -> Header:
        """Its tensors. Raises as `parse_header` and `whole` do."""
        if self._parsed is None:
            entries = parse_header(self._whole(), self._file_bytes, repo_id, path)
            self._parsed = group_entries(entries), self._file_bytes
            self._whole = bytes
        return self._parsed


def read_header(
    read: ReadRange, path: str, first_bytes: int, limits: Limits, repo_id: str
) -> tuple[ArrivedHeader, str | None]:
    """The header of a file and the commit it was read at; `first_bytes` are read at first.

    The rest of a long header waits until it is asked for: it may be as long as a stranger
    likes, and many at once would take many times their size.

    Raises as `header_end` does, and HubUnreachable ("truncated"); so may parsing a long one.
    """
    first = read(path, (0, first_bytes), None)
    end = header_end(first.body, first.total_bytes, repo_id, path, limits)

    def whole() -> bytes:
        data = first.body
        if end > len(data):
            # From where the first answer came: that spares the Hub's redirect.
            data += read(path, (len(data), end), first.url).body
        if end > len(data):
            raise HubUnreachable(repo_id=repo_id, reason="truncated")
        return data[:end]

    if end > max(limits.long_header_bytes, len(first.body)):
        return ArrivedHeader(whole, first.total_bytes), first.commit
    data = whole()
    return ArrivedHeader(lambda: data, first.total_bytes), first.commit
