"""ShardIndex: the index of a sharded checkpoint, without its list of tensors."""

from __future__ import annotations

import json
from dataclasses import dataclass

from gpusizer.core.errors import LimitsExceeded, MalformedRepo
from gpusizer.core.loose_values import JsonValue
from scrapers.formats.json_files import load_json
from scrapers.formats.json_members import members, text_values
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
    total_size: JsonValue = None


def parse_index(data: bytes, limits: Limits, repo_id: str, path: str) -> ShardIndex:
    """Parse an index, which may list 500,000 tensors; their names are not stored.

    Raises MalformedRepo ("weight_map", or as `members` and `load_json` do), LimitsExceeded
    ("tensors", "weight_files").
    """
    shards: tuple[str, ...] = ()
    total_size = None
    for name, text in members(memoryview(data), repo_id, path):
        if name == WEIGHT_MAP:
            shards = _shards(text, limits, repo_id, path)
            continue
        if len(text) > limits.config_bytes:
            raise MalformedRepo(repo_id=repo_id, file=path, reason="crowded")
        value = load_json(bytes(text), repo_id, path)
        if name == "metadata":
            total_size = value.get("total_size") if isinstance(value, dict) else None
    return ShardIndex(shards, total_size)


def _shards(text: memoryview, limits: Limits, repo_id: str, path: str) -> tuple[str, ...]:
    quoted_names: dict[bytes, None] = {}
    count = 0
    try:
        for quoted_name in text_values(text):
            quoted_names[quoted_name] = None
            count += 1
            if count > limits.tensors:
                raise LimitsExceeded(repo_id=repo_id, limit="tensors", allowed=limits.tensors)
            if len(quoted_names) > limits.weight_files:
                allowed = limits.weight_files
                raise LimitsExceeded(repo_id=repo_id, limit="weight_files", allowed=allowed)
        return tuple(dict.fromkeys(json.loads(name) for name in quoted_names))
    except ValueError:
        raise MalformedRepo(repo_id=repo_id, file=path, reason=WEIGHT_MAP) from None
