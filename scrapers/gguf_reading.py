"""Reads the header of a GGUF file in ranges; raw pieces are read as the file that they make."""

from __future__ import annotations

from collections.abc import Sequence

from scrapers.byte_window import Source
from scrapers.gguf_header import GgufHeader, read_header
from scrapers.gguf_pieces import joined_source
from scrapers.http_response import ReadRange
from scrapers.limits import Limits
from scrapers.weight_sets import RepoFile


def read_gguf(
    read: ReadRange, files: Sequence[RepoFile], limits: Limits, repo_id: str
) -> GgufHeader:
    """Return the header of a file, or of its pieces in order. Raises as `read_header` does."""
    parts = [(_source(read, file.path), file.size_bytes) for file in files]
    source = parts[0][0] if len(parts) == 1 else joined_source(parts)
    return read_header(source, limits, repo_id, files[0].path)


def _source(read: ReadRange, path: str) -> Source:
    """Return a source of a file's bytes; the first response's URL saves the Hub's redirects."""
    urls: list[str] = []

    def source(start: int, stop: int) -> tuple[bytes, int | None]:
        response = read(path, (start, stop), urls[0] if urls else None)
        urls.append(response.url)
        return response.body, response.total_bytes

    return source
