"""All shards' headers in one answer of the API: checked as strictly as the files' own. Pure.

`GET /api/models/{id}/safetensors-metadata/{index}` gives `{"index": {…}, "headers": {shard:
header}}` (huggingface_hub 2.x, `get_sharded_safetensors_metadata`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.core.errors import MalformedRepo
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.json_stream import JsonStream
from scrapers.limits import Limits
from scrapers.safetensors_header import (
    LENGTH_BYTES,
    METADATA,
    TensorEntry,
    check_entries,
    header_object,
)

_ENTRY = ':{"dtype":"","shape":[],"data_offsets":[]}'
_USUAL_METADATA = '"__metadata__":{"format":"pt"},'
_ALIGNMENT = 8

Headers = Mapping[str, tuple[TensorGroup, ...]]
"""Tensors of every shard, by its name in the index."""


def parse_headers(
    data: bytes, sizes: Mapping[str, int | None], limits: Limits, repo_id: str, path: str
) -> Headers:
    """Tensors of every shard; `sizes` are those of the files, by the names in the index.

    Raises MalformedRepo as `parse_header` does, with "missing_shard" for a shard that is no
    file and "beyond_end" for one that is not the file's, to the byte; UnsupportedDtype.
    """
    parsed = _parse(data, limits, repo_id, path)
    for shard, header in parsed.items():
        reason = _contradiction(sizes, shard, header, limits)
        if reason is not None:
            raise MalformedRepo(repo_id=repo_id, file=path, reason=reason)
    return {shard: header.groups for shard, header in parsed.items()}


@dataclass(frozen=True, slots=True)
class _ShardHeader:
    """A header as the answer repeats it.

    Attributes:
        data_bytes: end of the last tensor's data.
        written_bytes: length of the header as the safetensors library writes it, unpadded.
        has_metadata: whether the entry that is no tensor is repeated too.
    """

    groups: tuple[TensorGroup, ...]
    data_bytes: int
    written_bytes: int
    has_metadata: bool


def _contradiction(
    sizes: Mapping[str, int | None], shard: str, header: _ShardHeader, limits: Limits
) -> str | None:
    """What is wrong between a header and the file it is said to be of.

    The library leaves no gaps and writes no spaces but up to seven at the end, so that a tensor
    that is missing from the answer, or another one, makes another size. (It is so in all 5,793
    shards of 230 known repositories; the header of any other is read from the file.)
    """
    if shard not in sizes:
        return "missing_shard"
    size = sizes[shard]
    if size is None:
        return None
    # What the data leaves of the file is the header. Its length is not in the answer.
    header_bytes = size - header.data_bytes - LENGTH_BYTES
    spaces = [header_bytes - header.written_bytes]
    if not header.has_metadata:
        spaces.append(spaces[0] - len(_USUAL_METADATA))
    fits = any(0 <= count < _ALIGNMENT for count in spaces)
    return None if fits and header_bytes <= limits.header_bytes else "beyond_end"


def _parse(data: bytes, limits: Limits, repo_id: str, path: str) -> dict[str, _ShardHeader]:
    """The headers, each read and grouped before the next: together they take ten times as much."""
    stream = JsonStream(data, repo_id, path, limits.header_bytes, header_object)
    parsed: dict[str, _ShardHeader] = {}
    if not stream.is_object():
        raise stream.malformed("not_an_object")
    for name in stream.members():
        if name != "headers":
            continue
        for shard in stream.members():
            entries = stream.value()
            metadata = entries.get(METADATA) if isinstance(entries, dict) else None
            tensors, end = check_entries(entries, None, repo_id, path)
            written = _written_bytes(entries, metadata)
            parsed[shard] = _ShardHeader(group_entries(tensors), end, written, metadata is not None)
    stream.end()
    if not parsed:
        raise stream.malformed("not_an_object")
    return parsed


def _written_bytes(entries: Mapping[str, TensorEntry], metadata: Any) -> int:
    """Length of checked entries as compact JSON, metadata of any other form left out."""
    count = len(entries)
    layouts = Counter((dtype, shape) for dtype, shape, _ in entries.values())
    length = len("{}") + max(count - 1, 0) + count * len(_ENTRY) + _text_bytes(entries.keys())
    for (dtype, shape), uses in layouts.items():
        length += uses * (len(dtype) + len(",".join(map(str, shape))))
    # A list of pairs is written "[(1, 2), (3, 4)]": four marks in a pair, two between them.
    spans = repr([span for _, _, span in entries.values()])
    length += len(spans) - len("[]") - 4 * count - 2 * max(count - 1, 0) + count
    is_usual = isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())
    if is_usual:
        text = json.dumps({METADATA: metadata}, ensure_ascii=False, separators=(",", ":"))
        length += len(text.encode(errors="replace")) - len("{}") + bool(entries)
    return length


def _text_bytes(names: Collection[str]) -> int:
    """Length of some texts in JSON together, quotes included."""
    together = "".join(names)
    if together.isascii() and together.isprintable() and not {'"', "\\"} & set(together):
        return len(together) + 2 * len(names)
    written = (json.dumps(name, ensure_ascii=False) for name in names)
    return sum(len(name.encode(errors="replace")) for name in written)
