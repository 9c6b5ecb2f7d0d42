"""Parser of the API's response with the headers of all shards. Pure.

It is as strict as for the files' own headers. `GET /api/models/{id}/safetensors-metadata/{index}`
gives `{"index": {…}, "headers": {shard: header}}` (huggingface_hub 2.x,
`get_sharded_safetensors_metadata`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpusizer.core.errors import MalformedRepo
from gpusizer.core.loose_values import JsonValue, object_in
from gpusizer.hub.tensors import TensorGroup, group_entries
from scrapers.formats.json_stream import json_stream
from scrapers.formats.safetensors_header import (
    LENGTH_BYTES,
    METADATA,
    CheckedTensors,
    check_entries,
    tensor_entries,
)
from scrapers.limits import Limits

_ENTRY = ':{"dtype":"","shape":[],"data_offsets":[]}'
_USUAL_METADATA = '"__metadata__":{"format":"pt"},'
_ALIGNMENT = 8

# Tensors of every shard, by its name in the index.
Headers = Mapping[str, tuple[TensorGroup, ...]]


def parse_headers(
    data: bytes, sizes: Mapping[str, int | None], limits: Limits, repo_id: str, path: str
) -> Headers:
    """Return the tensors of every shard; `sizes` are the files' bytes by names in the index.

    Raises MalformedRepo as `parse_header` does, with "missing_shard" for a shard that is not in the
    file list and "beyond_end" for a header that does not fit the size of its file;
    UnsupportedDtype.
    """
    parsed = _parse(data, limits, repo_id, path)
    for shard, header in parsed.items():
        reason = _size_problem(sizes, shard, header, limits)
        if reason is not None:
            raise MalformedRepo(repo_id=repo_id, file=path, reason=reason)
    return {shard: header.groups for shard, header in parsed.items()}


@dataclass(frozen=True, slots=True)
class _ShardHeader:
    """The header of one shard in the response."""

    groups: tuple[TensorGroup, ...]
    data_bytes: int  # offset at which the last tensor's data ends
    json_bytes: int  # length of the header as the safetensors library writes it, unpadded
    has_metadata: bool  # whether the response includes the `__metadata__` entry


def _size_problem(
    sizes: Mapping[str, int | None], shard: str, header: _ShardHeader, limits: Limits
) -> str | None:
    # The safetensors library leaves no gaps between tensors and pads a header with at most seven
    # spaces, so that a missing or changed tensor changes the size of the file. (This holds for all
    # 5,793 shards of 230 known repositories; the header of any other shard is read from its file.)
    if shard not in sizes:
        return "missing_shard"
    size = sizes[shard]
    if size is None:
        return None
    # The response does not give the length of the header: it is the file without its data.
    header_bytes = size - header.data_bytes - LENGTH_BYTES
    padding_bytes = [header_bytes - header.json_bytes]
    if not header.has_metadata:
        padding_bytes.append(padding_bytes[0] - len(_USUAL_METADATA))
    is_padded = any(0 <= count < _ALIGNMENT for count in padding_bytes)
    return None if is_padded and header_bytes <= limits.header_bytes else "beyond_end"


def _parse(data: bytes, limits: Limits, repo_id: str, path: str) -> dict[str, _ShardHeader]:
    # One header at a time: parsing all at once would take ten times the memory.
    parsed: dict[str, _ShardHeader] = {}
    with json_stream(data, repo_id, path) as stream:
        for member in stream.members():
            if member != "headers":
                stream.skip()
                continue
            for shard in stream.members():
                parsed[shard] = _shard_header(stream.value(), limits, repo_id, path)
    if not parsed:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="not_an_object")
    return parsed


def _shard_header(header: JsonValue, limits: Limits, repo_id: str, path: str) -> _ShardHeader:
    entries = tensor_entries(header)
    metadata = object_in(entries).get(METADATA)
    checked = check_entries(entries, None, repo_id, path)
    json_bytes = _json_bytes(checked, metadata)
    if json_bytes > limits.header_bytes:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="crowded")
    groups = group_entries(checked.entries)
    return _ShardHeader(groups, checked.end, json_bytes, metadata is not None)


def _json_bytes(checked: CheckedTensors, metadata: JsonValue) -> int:
    # Bytes of the compact JSON, without metadata of an unusual form.
    names, layouts = checked.entries
    count = len(names)
    length = len("{}") + max(count - 1, 0) + count * len(_ENTRY) + _text_bytes(names)
    for (dtype, shape), uses in Counter(layouts).items():
        length += uses * (len(dtype) + len(",".join(map(str, shape))))
    # repr writes a list of pairs as "[(1, 2), (3, 4)]": four characters around and in each pair,
    # and two between pairs.
    spans = repr(checked.spans)
    length += len(spans) - len("[]") - 4 * count - 2 * max(count - 1, 0) + count
    if isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values()):
        text = json.dumps({METADATA: metadata}, ensure_ascii=False, separators=(",", ":"))
        length += len(text.encode(errors="replace")) - len("{}") + bool(names)
    return length


def _text_bytes(names: Collection[str]) -> int:
    # Bytes in JSON, quotes included.
    joined_names = "".join(names)
    if (
        joined_names.isascii()
        and joined_names.isprintable()
        and not {'"', "\\"} & set(joined_names)
    ):
        return len(joined_names) + 2 * len(names)
    quoted_names = (json.dumps(name, ensure_ascii=False) for name in names)
    return sum(len(name.encode(errors="replace")) for name in quoted_names)
