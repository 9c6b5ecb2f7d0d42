"""Long headers and answers full of them: read whole, in little memory, or refused in little."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from gpusizer.core.errors import MalformedRepo, ModelUnreadable
from gpusizer.core.units import MIB
from gpusizer.hub.tensors import merge_groups
from scrapers.headers_answer import parse_headers
from scrapers.limits import Limits
from scrapers.safetensors_header import parse_header
from tests.hub_emulator import raw_safetensors_file

ENTRY = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
SHARDS, EXPERTS = 163, 188


@pytest.fixture
def memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def peak_bytes() -> int:
    return tracemalloc.get_traced_memory()[1]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ('"__metadata__":{},"__metadata__":{},', "duplicate_key"),
        ('"__metadata__":{"x":1,"x":2},', "duplicate_key"),
        ('"__metadata__":{},,', "not_json"),
        ('"__metadata__":{}', "not_json"),
    ],
)
def test_malformed_metadata_is_refused(metadata: str, reason: str) -> None:
    data = raw_safetensors_file(f"{{{metadata}{ENTRY}}}".encode()).head_bytes()
    with pytest.raises(MalformedRepo, match=reason):
        parse_header(data, len(data) + 8, "r", "p")


@pytest.mark.parametrize("size", [0, 10, 2**18 + 10])
def test_metadata_of_any_length_is_passed_over(size: int) -> None:
    text = f'{{"__metadata__":{{"format":"{"x" * size}"}},{ENTRY}}}'
    data = raw_safetensors_file(text.encode()).head_bytes()
    assert parse_header(data, len(data) + 8, "r", "p") == (["a"], [("F32", (2,))])


@pytest.mark.usefixtures("memory")
def test_metadata_of_brackets_costs_no_memory() -> None:
    nested = ",".join(["[]"] * 2_000_000)
    answer = f'{{"index":{{}},"headers":{{"a":{{"__metadata__":[{nested}],{ENTRY}}}}}}}'.encode()
    data = raw_safetensors_file(f'{{"__metadata__":[{nested}],{ENTRY}}}'.encode()).head_bytes()
    with pytest.raises(MalformedRepo, match="crowded"):
        parse_header(data, len(data) + 8, "r", "p")
    with pytest.raises(MalformedRepo, match="crowded"):
        parse_headers(answer, {"a": None}, Limits(), "r", "p")
    assert peak_bytes() < 60e6


@pytest.mark.usefixtures("memory")
def test_memory_of_a_lying_answer() -> None:
    """As costly as passes for a listing of tensors; the longest answer may have four times it."""
    numbers = b"[999,99999,9999],"
    answer = b'{"headers":{"a":[' + numbers * (8 * MIB // len(numbers)) + b"0]}}"
    assert 4 * len(answer) > Limits().headers_bytes
    with pytest.raises(ModelUnreadable):
        parse_headers(answer, {"a": None}, Limits(), "r", "p")
    assert peak_bytes() < 115e6


def large_answer() -> bytes:
    """92,000 tensors in 163 shards, as DeepSeek-R1 has them."""
    headers: dict[str, Any] = {}
    for shard in range(SHARDS):
        end, entries = 0, {}
        for expert in range(EXPERTS):
            for part in ("gate", "up", "down"):
                name = f"model.layers.{shard}.mlp.experts.{expert}.{part}_proj.weight"
                spans = [end, end + 2048 * 7168]
                entries[name] = {"dtype": "F8_E4M3", "shape": [2048, 7168], "data_offsets": spans}
                end = spans[1]
        headers[f"model-{shard:05}-of-00163.safetensors"] = entries
    return json.dumps({"index": {}, "headers": headers}, separators=(",", ":")).encode()


def test_a_large_model_in_one_answer() -> None:
    data = large_answer()
    sizes: dict[str, int | None] = {
        f"model-{shard:05}-of-00163.safetensors": None for shard in range(SHARDS)
    }
    tracemalloc.start()
    try:
        headers = parse_headers(data, sizes, Limits(), "r", "p")
        assert sum(group.count for group in merge_groups(headers.values())) == 91_932
        assert peak_bytes() < 150e6
    finally:
        tracemalloc.stop()
