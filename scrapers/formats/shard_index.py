"""ShardIndex: the index of a sharded checkpoint, without its list of tensors."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.errors import LimitsExceeded, MalformedRepo
from gpusizer.core.loose_values import JsonValue, object_in
from scrapers.formats.json_stream import JsonStream, StreamRefusal, json_stream
from scrapers.limits import Limits

WEIGHT_MAP = "weight_map"


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """A shard index."""

    # names of the files that hold tensors, each once, in order of first appearance
    shards: tuple[str, ...]
    total_size: JsonValue = None  # unchecked value of `metadata.total_size`, None without one


def parse_index(data: bytes, limits: Limits, repo_id: str, path: str) -> ShardIndex:
    """Parse an index, which may list 500,000 tensors; their names are not stored.

    Raises MalformedRepo ("weight_map", or as `json_stream` does), LimitsExceeded ("tensors",
    "weight_files").
    """
    shards: tuple[str, ...] = ()
    total_size: JsonValue = None
    with json_stream(data, repo_id, path) as stream:
        for member in stream.members():
            if member == WEIGHT_MAP:
                shards = _shards(stream, limits, repo_id, path)
            elif member == "metadata":
                total_size = object_in(stream.value()).get("total_size")
            else:
                stream.skip()
    return ShardIndex(shards, total_size)


def _shards(stream: JsonStream, limits: Limits, repo_id: str, path: str) -> tuple[str, ...]:
    shards: dict[str, None] = {}
    try:
        for number, shard in enumerate(stream.texts(), start=1):
            shards[shard] = None
            if number > limits.tensors:
                raise LimitsExceeded(repo_id=repo_id, limit="tensors", allowed=limits.tensors)
            if len(shards) > limits.weight_files:
                allowed = limits.weight_files
                raise LimitsExceeded(repo_id=repo_id, limit="weight_files", allowed=allowed)
    except StreamRefusal as error:
        reason = WEIGHT_MAP if error.reason == "not_texts" else error.reason
        raise MalformedRepo(repo_id=repo_id, file=path, reason=reason) from None
    return tuple(shards)
