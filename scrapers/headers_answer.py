"""All shards' headers in one answer of the API: checked as strictly as the files' own. Pure.

`GET /api/models/{id}/safetensors-metadata/{index}` gives `{"index": {…}, "headers": {shard:
header}}` (huggingface_hub 2.x, `get_sharded_safetensors_metadata`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gpusizer.errors import MalformedRepo
from gpusizer.tensors import TensorGroup, group_entries
from scrapers.json_files import load_json, refuse_crowded, unique_keys
from scrapers.limits import Limits
from scrapers.safetensors_header import LENGTH_BYTES, entries_to_tensors, skip_metadata
from scrapers.safetensors_scan import scan_entries

_HEADERS = '"headers":{'
# Everything beside the headers: the index without its weight map.
_MAX_REST_CHARS = 2**16
_SHARD = re.compile(r'"([^"\\\x00-\x1f]{1,400})":(?=\{)')

Headers = Mapping[str, tuple[TensorGroup, ...]]
"""Tensors of every shard, by its name in the index."""


def parse_headers(
    data: bytes, sizes: Mapping[str, int | None], limits: Limits, repo_id: str, path: str
) -> Headers:
    """Tensors of every shard; `sizes` are those of the files, by the names in the index.

    Raises MalformedRepo as `parse_header` does, with "missing_shard" for a shard that is no
    file and "beyond_end" for one that cannot be the file's; UnsupportedDtype.
    """
    found = _scan(data) or _parse(data, limits, repo_id, path)
    for shard, (_, end) in found.items():
        reason = _contradiction(sizes, shard, end, limits)
        if reason is not None:
            raise MalformedRepo(repo_id=repo_id, file=path, reason=reason)
    return {shard: groups for shard, (groups, _) in found.items()}


_Found = dict[str, tuple[tuple[TensorGroup, ...], int]]
"""Tensors and bytes of data, by shard."""


def _contradiction(
    sizes: Mapping[str, int | None], shard: str, end: int, limits: Limits
) -> str | None:
    """What is wrong between a header and the file it is said to be of."""
    if shard not in sizes:
        return "missing_shard"
    size = sizes[shard]
    if size is None:
        return None
    # What the data leaves of the file is the header. Its length is not in the answer.
    header_bytes = size - end - LENGTH_BYTES
    return None if 2 <= header_bytes <= limits.header_bytes else "beyond_end"


def _scan(data: bytes) -> _Found | None:
    """Headers in the usual form; None for anything else."""
    try:
        text = data.decode()
        start = text.find(_HEADERS, 0, _MAX_REST_CHARS)
        if start < 0:
            return None
        found: _Found = {}
        position = start + len(_HEADERS)
        while shard := _SHARD.match(text, position):
            first = skip_metadata(text, shard.end())
            stop = _end_of_header(text, first)
            scanned = None if first is None else scan_entries(text, first, stop)
            if scanned is None or shard[1] in found:
                return None
            found[shard[1]] = group_entries(scanned[0]), scanned[1]
            position = stop + 1
            if text[position : position + 1] != ",":
                break
            position += 1
        rest = text[: start + len(_HEADERS)] + text[position : position + _MAX_REST_CHARS]
        whole = json.loads(rest, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return None
    short = len(text) - position <= _MAX_REST_CHARS and text[position - 1] != ","
    return found if short and isinstance(whole, dict) and whole.get("headers") == {} else None


def _end_of_header(text: str, start: int | None) -> int:
    """Where the entries that begin at `start` end, if no name holds such an end itself."""
    if start is None or text.startswith("}", start):
        return start or 0
    return text.find("]}}", start) + len("]}")


def _parse(data: bytes, limits: Limits, repo_id: str, path: str) -> _Found:
    """Headers in any form, within the size of a single one: a JSON tree costs memory."""
    refuse_crowded(data, repo_id, path)
    if len(data) > limits.header_bytes:
        raise MalformedRepo(repo_id=repo_id, file=path, reason="tensor_entry")
    answer = load_json(data, repo_id, path, unique_keys)
    headers = answer.get("headers") if isinstance(answer, dict) else None
    if not isinstance(headers, dict):
        raise MalformedRepo(repo_id=repo_id, file=path, reason="not_an_object")
    found: _Found = {}
    for shard, entries in headers.items():
        tensors = entries_to_tensors(entries, None, repo_id, path)
        end = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        found[shard] = group_entries(tensors), end
    return found
