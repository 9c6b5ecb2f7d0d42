"""Headers as long as they may be: what they take, one at a time and in turn."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.errors import LimitsExceeded, MalformedRepo, ModelUnreadable
from gpusizer.core.units import KIB, MIB
from gpusizer.hub.tensors import merge_groups
from scrapers.formats.headers_answer import parse_headers
from scrapers.formats.safetensors_header import parse_header
from scrapers.limits import Limits
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    LoggedRequest,
    raw_safetensors_file,
    sparse_file,
)
from tests.hub_emulator.log import round_trips
from tests.nightly import some
from tests.scrapers.conftest import AMPLE, Fetch
from tests.scrapers.long_headers import (
    TensorName,
    memory_of_reading,
    odd_name,
    tagged_repo,
    usual_name,
)

ENTRY = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
SHARDS, EXPERTS = some(range(163), of=8), 188


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
    """At night 92,000 tensors in 163 shards, as DeepSeek-R1 has them, by day an eighth."""
    headers: dict[str, Any] = {}
    for shard in SHARDS:
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
        f"model-{shard:05}-of-00163.safetensors": None for shard in SHARDS
    }
    tracemalloc.start()
    try:
        headers = parse_headers(data, sizes, Limits(), "r", "p")
        assert sum(group.count for group in merge_groups(headers.values())) == 3 * EXPERTS * len(
            SHARDS
        )
        assert peak_bytes() < 150e6 / 163 * len(SHARDS)
    finally:
        tracemalloc.stop()


FEW_SHARDS, TENSORS = 4, 200
WEIGHTS = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}
SMALL = replace(AMPLE, first_read_bytes=4 * KIB, long_header_bytes=8 * KIB)
MOST_MB = 300


def test_huge_header_is_not_read(hub: HubEmulator, fetch: Fetch) -> None:
    weights = sparse_file(10**9 + 8, (10**9).to_bytes(8, "little"))
    hub.add(FakeRepo("org/name", {"model.safetensors": weights}))
    with pytest.raises(LimitsExceeded, match="header_bytes"):
        fetch()
    assert sum(request.body_bytes_sent for request in hub.requests) < 10**6


def rests(hub: HubEmulator) -> list[LoggedRequest]:
    """What was read of files beyond their first range."""
    return [
        request
        for request in hub.requests
        if request.range and not request.range.startswith("bytes=0-")
    ]


@pytest.mark.parametrize(("long", "in_turn"), [(8 * KIB, True), (MIB, False)])
def test_long_headers_are_read_one_after_another(
    hub: HubEmulator, fetch: Fetch, long: int, in_turn: bool
) -> None:
    hub.add(tagged_repo(usual_name, FEW_SHARDS, 20 * KIB))
    hub.options.latency = 0.2
    (component,) = fetch("org/name@v1", limits=replace(SMALL, long_header_bytes=long)).components
    assert [file.tensor_count > TENSORS for file in component.files] == [True] * FEW_SHARDS
    assert len(rests(hub)) == FEW_SHARDS
    assert (round_trips(rests(hub)) == FEW_SHARDS) is in_turn


def test_no_header_is_read_after_the_tensor_limit(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(tagged_repo(usual_name, FEW_SHARDS, 20 * KIB))
    with pytest.raises(LimitsExceeded, match="tensors"):
        fetch("org/name@v1", limits=replace(SMALL, tensors=TENSORS))
    assert len(rests(hub)) == 1


HOSTILE: list[tuple[TensorName, int, int, str]] = [
    (usual_name, 31, 8_300_000, "tensors"),
    (odd_name, 14, 7_900_000, "tensor_groups"),
    (odd_name, 120, 950_000, "tensor_groups"),
    (usual_name, 120, 950_000, "tensors"),
]


@pytest.mark.parametrize(("name", "shards", "header_bytes", "limit"), some(HOSTILE, of=4, start=3))
def test_memory_of_a_hostile_repository(
    hub: HubEmulator, name: TensorName, shards: int, header_bytes: int, limit: str
) -> None:
    hub.add(tagged_repo(name, shards, header_bytes))
    exceeded, peak_megabytes = memory_of_reading(hub)
    assert (exceeded, peak_megabytes < MOST_MB) == (limit, True), peak_megabytes
