"""Reads the header of a safetensors file in one range or two, that of a GGUF file in several."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.client.http_response import ReadRange
from scrapers.client.read_budget import ReadBudget
from scrapers.formats import gguf_header
from scrapers.formats.byte_window import Source
from scrapers.formats.gguf_pieces import joined_source
from scrapers.formats.safetensors_header import count_tensors, header_end, parse_header
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits

Header = tuple[tuple[TensorGroup, ...], int | None]
"""Tensors of a file, and the size of the whole file in bytes if a response gave it.

Tensors are grouped as soon as they are parsed: a list of them takes 100 times the memory.
"""


class HeaderMemory:
    """Limits the memory of headers that wait to be parsed. Safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        self._free_bytes = max_bytes
        self._lock = threading.Lock()

    def reserve(self, count: int) -> bool:
        """Reserve `count` bytes; return whether there was room for them."""
        with self._lock:
            if count > self._free_bytes:
                return False
            self._free_bytes -= count
            return True

    def release(self, count: int) -> None:
        """Release `count` reserved bytes."""
        with self._lock:
            self._free_bytes += count


class LazyHeader:
    """A header whose first bytes have arrived; it is parsed when its tensors are requested.

    The calling thread parses, not those that read: they would compete for the interpreter lock,
    and would hold the parsed JSON of several headers in memory at a time. Parsing releases the
    bytes of the header.
    """

    def __init__(
        self,
        read_bytes: Callable[[], bytes],
        file_bytes: int | None,
        memory: HeaderMemory,
        reserved_bytes: int,
    ) -> None:
        self._read_bytes = read_bytes
        self._file_bytes = file_bytes
        self._memory = memory
        self._reserved_bytes = reserved_bytes
        self._parsed: Header | None = None

    def parsed(self, budget: ReadBudget, path: str) -> Header:
        """Return the tensors.

        Raises LimitsExceeded ("tensors"), and as `parse_header` and `read_bytes` do.
        """
        if self._parsed is None:
            header = self._read_bytes()
            budget.count_tensors(count_tensors(header))
            entries = parse_header(header, self._file_bytes, budget.repo_id, path)
            del header
            self._parsed = group_entries(entries), self._file_bytes
            self._read_bytes = bytes
            self._memory.release(self._reserved_bytes)
        return self._parsed


def read_header(
    read: ReadRange, path: str, first_bytes: int, limits: Limits, repo_id: str, memory: HeaderMemory
) -> LazyHeader:
    """Read the first `first_bytes` of a file; return its header.

    The remainder of a header longer than `limits.long_header_bytes` is read when it is parsed,
    so that a repository with many long headers does not fill the memory. If `memory` has no room
    for the first bytes, they are read a second time then.

    Raises as `header_end` does, and HubUnreachable ("truncated"); parsing a long header may
    raise the same errors.
    """
    first = read(path, (0, first_bytes), None)
    end = header_end(first.body, first.total_bytes, repo_id, path, limits)

    is_long = end > max(limits.long_header_bytes, len(first.body))
    url, file_bytes = first.url, first.total_bytes
    needed_bytes = len(first.body) if is_long else end
    start = first.body[:end] if memory.reserve(needed_bytes) else b""
    reserved_bytes = needed_bytes if start else 0
    del first

    def read_bytes() -> bytes:
        data = start
        if end > len(data):
            # The URL of the first response: this saves the Hub's redirect.
            data += read(path, (len(data), end), url).body
        if end > len(data):
            raise HubUnreachable(repo_id=repo_id, reason="truncated")
        return data[:end]

    if is_long or not start:
        return LazyHeader(read_bytes, file_bytes, memory, reserved_bytes)
    data = read_bytes()
    return LazyHeader(lambda: data, file_bytes, memory, reserved_bytes)


def read_gguf(
    read: ReadRange, files: Sequence[RepoFile], limits: Limits, repo_id: str
) -> gguf_header.GgufHeader:
    """Return the header of a file, or of its pieces in order. Raises as `read_header` does."""
    parts = [(_source(read, file.path), file.size_bytes) for file in files]
    source = parts[0][0] if len(parts) == 1 else joined_source(parts)
    return gguf_header.read_header(source, limits, repo_id, files[0].path)


def _source(read: ReadRange, path: str) -> Source:
    """Return a source of a file's bytes; the first response's URL saves the Hub's redirects."""
    urls: list[str] = []

    def source(start: int, stop: int) -> tuple[bytes, int | None]:
        response = read(path, (start, stop), urls[0] if urls else None)
        urls.append(response.url)
        return response.body, response.total_bytes

    return source
