"""Headers in their turn: parsed by who asks, long ones read when needed, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpusizer.errors import LimitsExceeded
from gpusizer.tensors import Entries
from scrapers.limits import KIB, MIB
from scrapers.safetensors_header import parse_header
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    LoggedRequest,
    raw_safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.hub_emulator.log import round_trips
from tests.scrapers.conftest import QUICK, Fetch

SHARDS, TENSORS = 4, 200
WEIGHTS = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}
SMALL = replace(QUICK, first_read_bytes=4 * KIB, long_header_bytes=8 * KIB)
MOST_MB = 300

Name = Callable[[int, int], str]


def usual(shard: int, number: int) -> str:
    return f"model.layers.{shard}.mlp.experts.{number}.down_proj.weight"


def odd(shard: int, number: int) -> str:
    """A name that has nothing in common with the others."""
    digits = f"{shard:03}{number:05}"
    return digits.translate(str.maketrans("0123456789", "abcdefghij")) + 400 * "x"


def tagged(name: Name, shards: int, header_bytes: int) -> FakeRepo:
    """Shards with headers of so many bytes; at its tag headers are read from the files."""
    files = {}
    for shard in range(shards):
        entries, size = [], 0
        while size < header_bytes:
            at = len(entries)
            said = f'"data_offsets":[{at},{at + 1}]'
            entries.append(f'"{name(shard, at)}":{{"dtype":"U8","shape":[1],{said}}}')
            size += len(entries[-1]) + 1
        header = f"{{{','.join(entries)}}}".encode()
        path = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        files[path] = raw_safetensors_file(header, None, len(entries))
    repo = FakeRepo("org/name", files, parameters={"U8": 1})
    repo.revisions["v1"] = repo.sha
    return repo


def test_headers_are_parsed_one_at_a_time_by_who_asks(
    hub: HubEmulator, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that parse beside one another take the interpreter from those that read."""
    repo = hub.add(sharded_repo("org/name", WEIGHTS, 3, {"model_type": "x"}))
    repo.revisions["v1"] = repo.sha
    parsed: list[tuple[str, int]] = []

    def parse(header: bytes, file_bytes: int | None, repo_id: str, path: str) -> Entries:
        parsed.append((path, threading.get_ident()))
        return parse_header(header, file_bytes, repo_id, path)

    monkeypatch.setattr("scrapers.header_reading.parse_header", parse)
    (component,) = fetch("org/name@v1").components
    assert [(group.pattern, group.count) for group in component.tensors] == [
        ("layers.{}.weight", 6)
    ]
    shards = [f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)]
    assert parsed == [(shard, threading.get_ident()) for shard in shards]


def test_huge_header_is_not_read(hub: HubEmulator, fetch: Fetch) -> None:
    weights = sparse_file(10**9 + 8, (10**9).to_bytes(8, "little"))
    hub.add(FakeRepo("org/name", {"model.safetensors": weights}))
    with pytest.raises(LimitsExceeded, match="header_bytes"):
        fetch()
    assert sum(request.body_bytes_sent for request in hub.requests) < 10**6


def rests(hub: HubEmulator) -> list[LoggedRequest]:
    """What was read of files beyond their first range."""
    return [one for one in hub.requests if one.range and not one.range.startswith("bytes=0-")]


@pytest.mark.parametrize(("long", "in_turn"), [(8 * KIB, True), (MIB, False)])
def test_long_ones_are_read_one_after_another(
    hub: HubEmulator, fetch: Fetch, long: int, in_turn: bool
) -> None:
    hub.add(tagged(usual, SHARDS, 20 * KIB))
    hub.options.latency = 0.2
    (component,) = fetch("org/name@v1", limits=replace(SMALL, long_header_bytes=long)).components
    assert [file.tensor_count > TENSORS for file in component.files] == [True] * SHARDS
    assert len(rests(hub)) == SHARDS
    assert (round_trips(rests(hub)) == SHARDS) is in_turn


def test_none_is_read_once_there_are_too_many_tensors(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(tagged(usual, SHARDS, 20 * KIB))
    with pytest.raises(LimitsExceeded, match="tensors"):
        fetch("org/name@v1", limits=replace(SMALL, tensors=TENSORS))
    assert len(rests(hub)) == 1


@pytest.mark.parametrize(
    ("name", "shards", "header_bytes", "limit"),
    [(usual, 14, 7_900_000, "tensors"), (odd, 14, 7_900_000, "tensor_groups"),
     (odd, 120, 950_000, "tensor_groups"), (usual, 120, 950_000, "tensors")],
)  # fmt: skip
def test_memory_of_a_hostile_repository(
    hub: HubEmulator, name: Name, shards: int, header_bytes: int, limit: str
) -> None:
    hub.add(tagged(name, shards, header_bytes))
    made = subprocess.run(
        [sys.executable, "-c", _READ, hub.endpoint], capture_output=True, text=True, timeout=60
    )
    found = json.loads(made.stdout)
    assert (found["limit"], found["megabytes"] < MOST_MB) == (limit, True), found


_READ = """
import json, re, sys
from pathlib import Path
from gpusizer.errors import LimitsExceeded
from gpusizer.hub_id import ModelRef
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.limits import Limits

with HubSession(sys.argv[1]) as session:
    try:
        fetch_snapshot(ModelRef("org/name", "v1"), session, Limits())
    except LimitsExceeded as error:
        peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
        print(json.dumps({"limit": error.fields["limit"], "megabytes": int(peak[1]) / 1000}))
"""
