"""ShardIndex: the index of a sharded checkpoint, without its list of tensors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gpusizer.core.errors import LimitsExceeded, MalformedRepo
from scrapers.json_stream import JsonStream
from scrapers.limits import Limits

WEIGHT_MAP = "weight_map"


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """A shard index.

    Attributes:
        shards: names of the files that hold tensors, each once, in order of first appearance.
        total_size: unchecked value of `metadata.total_size`, None without one.
    """

    shards: tuple[str, ...]
    total_size: Any = None


def parse_index(data: bytes, limits: Limits, repo_id: str, path: str) -> ShardIndex:
    """Parse an index, which may list 500,000 tensors; their names are not stored.

    Raises MalformedRepo ("weight_map", "not_an_object" or as JsonStream does), LimitsExceeded
    ("tensors", "weight_files").
    """
    stream = JsonStream(data, repo_id, path, limits.config_bytes)
    if not stream.is_object():
        stream.value()
        raise stream.malformed("not_an_object")
    shards: tuple[str, ...] = ()
    total_size = None
    for name in stream.members():
        if name == WEIGHT_MAP:
            shards = _shards(stream, limits, repo_id)
        elif name == "metadata":
            metadata = stream.value()
            total_size = metadata.get("total_size") if isinstance(metadata, dict) else None
    stream.end()
    return ShardIndex(shards, total_size)


def _shards(stream: JsonStream, limits: Limits, repo_id: str) -> tuple[str, ...]:
    quoted_names: dict[bytes, None] = {}
    count = 0
    if not stream.is_object():
        raise stream.malformed(WEIGHT_MAP)
    try:
        for text in stream.texts():
            quoted_names[text] = None
            count += 1
            if count > limits.tensors:
                raise LimitsExceeded(repo_id=repo_id, limit="tensors", allowed=limits.tensors)
            if len(quoted_names) > limits.weight_files:
                allowed = limits.weight_files
                raise LimitsExceeded(repo_id=repo_id, limit="weight_files", allowed=allowed)
        return tuple(dict.fromkeys(json.loads(text) for text in quoted_names))
    except (MalformedRepo, ValueError):
        raise stream.malformed(WEIGHT_MAP) from None
