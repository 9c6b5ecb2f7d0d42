"""Repositories as large as their owners can make them: the memory that a process reads one in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpusizer.core.errors import LimitsExceeded
from gpusizer.core.units import KIB, MIB
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    LoggedRequest,
    literal_file,
    llama_repo,
    raw_safetensors_file,
    safetensors_file,
    sparse_file,
)
from tests.hub_emulator.log import round_trips
from tests.nightly import some
from tests.scrapers.conftest import AMPLE, Fetch
from tests.scrapers.test_json import crowd

NAME, INDEX = "org/name", "model.safetensors.index.json"
WEIGHTS = {"a": ("F32", (2,))}
MOST_MB = 300


def usual_name(shard: int, number: int) -> str:
    return f"model.layers.{shard}.mlp.experts.{number}.down_proj.weight"


def odd_name(shard: int, number: int) -> str:
    """Return a name that has nothing in common with the others."""
    digits = f"{shard:03}{number:05}"
    return digits.translate(str.maketrans("0123456789", "abcdefghij")) + 400 * "x"


def headed(header: Callable[[int], bytes], shards: int) -> FakeRepo:
    """Shards with such a header each, which at the tag v1 are read from the files."""
    files = {
        f"model-{n + 1:05}-of-{shards:05}.safetensors": raw_safetensors_file(header(n), None, 10**6)
        for n in range(shards)
    }
    repo = FakeRepo(NAME, files, parameters={"U8": 1})
    repo.revisions["v1"] = repo.sha
    return repo


def tensors(name: Callable[[int, int], str], size: int) -> Callable[[int], bytes]:
    """Headers of about `size` bytes each, of tensors with these names."""

    def header(shard: int) -> bytes:
        entry = '"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}}'
        count = size // len(entry.format(name(shard, 9999), 9999, 9999))
        return (
            f"{{{','.join(entry.format(name(shard, n), n, n + 1) for n in range(count))}}}".encode()
        )

    return header


def metadata(kind: str, size: int) -> Callable[[int], bytes]:
    """Headers that hold nothing but a crowd of values."""
    return lambda shard: crowd(kind, size, b'{"__metadata__":[', b"0]}")


def indexed(index: bytes) -> FakeRepo:
    """Two shards that only the index can name."""
    files = {"part-a.safetensors": safetensors_file(WEIGHTS), INDEX: literal_file(index)}
    return FakeRepo(NAME, files, parameters={"F32": 2})


def large_index(size: int) -> bytes:
    """Return an honest index of about `size` bytes, which lists all its tensors in one file."""
    entry = '    "model.layers.%d.mlp.experts.%d.down_proj.weight": "part-a.safetensors",\n'
    text = "".join(entry % (n // 256, n % 256) for n in range(size // len(entry)))
    return f'{{"weight_map": {{\n{text}"a": "part-a.safetensors"}}}}'.encode()


def described(key: str, value: bytes) -> FakeRepo:
    """Return a description with a field of its owner's making."""
    return llama_repo(NAME, info={key: json.loads(value)})


def configured(config: bytes, count: int) -> FakeRepo:
    """Return a pipeline of `count` components with a configuration each."""
    files = {"model_index.json": literal_file({f"c{n}": ["d", "C"] for n in range(count)})}
    for n in range(count):
        files[f"c{n}/config.json"] = literal_file(config)
        files[f"c{n}/model.safetensors"] = safetensors_file(WEIGHTS)
    return FakeRepo(NAME, files)


def listing(count: int) -> FakeRepo:
    """Return a model among `count` files."""
    others = {f"{n:05}/{'x' * 200}.safetensors": sparse_file(8) for n in range(count)}
    return FakeRepo(NAME, others | {"model.safetensors": safetensors_file(WEIGHTS)})


def config(kind: str, size: int) -> bytes:
    return crowd(kind, size, b'{"x":[', b"0]}")


REPOS: dict[str, tuple[Callable[[], FakeRepo], str]] = {
    "an index of 400,000 tensors": (lambda: indexed(large_index(34 * 10**6)), ""),
    "15 headers of objects": (lambda: headed(metadata("objects", 8 * MIB - 64), 15), "crowded"),
    "a description of texts": (
        lambda: described("tags", crowd("wide texts", 15 * MIB)),
        "json_memory_bytes",
    ),
    "120 headers of odd names": (
        lambda: headed(tensors(odd_name, 950_000), 120),
        "tensor_groups",
    ),
    "an index of lists": (lambda: indexed(config("lists", 63 * MIB)), "crowded"),
    "60 configurations of lists": (
        lambda: configured(config("lists", 2 * MIB - 9), 60),
        "config_memory_bytes",
    ),
    "120 headers of usual names": (lambda: headed(tensors(usual_name, 950_000), 120), "tensors"),
    "14,000 files in folders of their own": (lambda: listing(14_000), ""),
    "31 headers of usual names": (lambda: headed(tensors(usual_name, 7_500_000), 31), "tensors"),
    "a list of objects": (
        lambda: described("siblings", crowd("objects", 15 * MIB)),
        "json_memory_bytes",
    ),
    "120 headers of texts": (lambda: headed(metadata("texts", MIB), 120), "no_tensors"),
    "60 small configurations": (lambda: configured(config("lists", 10_000), 60), ""),
}


@pytest.mark.parametrize("name", some(list(REPOS), of=3))
def test_memory_of_reading_a_repository(name: str) -> None:
    make, ended = REPOS[name]
    repo = make()
    model = f"{NAME}@v1" if repo.revisions else NAME
    with HubEmulator([repo], safetensors_metadata_status=501, gzip_text=False) as hub:
        exceeded, peak_megabytes = memory_of_reading(hub, model)
    assert (exceeded, peak_megabytes < MOST_MB) == (ended, True), peak_megabytes


def memory_of_reading(hub: HubEmulator, model: str) -> tuple[str, float]:
    """Return what ended reading a model in a process of its own ("" for nothing), and its peak in
    MB: the limit that was exceeded, or the reason of another error."""
    process = subprocess.run(
        [sys.executable, "-c", _READ, hub.endpoint, hub.cdn_endpoint, model],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    ended, status = process.stdout.split("\n", 1)
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    return ended, int(peak[1]) / 1000


_READ = """
import sys
from pathlib import Path
from gpusizer.core.errors import ModelUnreadable
from gpusizer.hub.model_ref import parse_model_ref
from scrapers.client.http import HubSession
from scrapers.repository.hub import fetch_snapshot
from scrapers.limits import Limits

# Bytes end the reading, not seconds, however busy the machine is.
limits, ended = Limits(model_seconds=240.0, request_seconds=240.0), ""
with HubSession(sys.argv[1], cdn_origins=[sys.argv[2]]) as session:
    try:
        fetch_snapshot(parse_model_ref(sys.argv[3]), session, limits)
    except ModelUnreadable as error:
        ended = error.fields.get("limit") or error.fields["reason"]
print(ended, Path("/proc/self/status").read_text(), sep="\\n")
"""

SHARDS, COUNT = 4, 150
SMALL = replace(AMPLE, first_read_bytes=4 * KIB, long_header_bytes=8 * KIB)


def rests(hub: HubEmulator) -> list[LoggedRequest]:
    """Return requests for parts of files beyond their first range."""
    ranges = [request for request in hub.requests if request.range]
    return [request for request in ranges if not str(request.range).startswith("bytes=0-")]


@pytest.mark.parametrize(("long", "in_turn"), [(8 * KIB, True), (MIB, False)])
def test_long_headers_are_read_one_after_another(
    hub: HubEmulator, fetch: Fetch, long: int, in_turn: bool
) -> None:
    hub.add(headed(tensors(usual_name, 20 * KIB), SHARDS))
    hub.options.latency = 0.2
    (component,) = fetch(f"{NAME}@v1", limits=replace(SMALL, long_header_bytes=long)).components
    assert [file.tensor_count > COUNT for file in component.files] == [True] * SHARDS
    assert len(rests(hub)) == SHARDS
    assert (round_trips(rests(hub)) == SHARDS) is in_turn


def test_no_header_is_read_after_the_tensor_limit(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(headed(tensors(usual_name, 20 * KIB), SHARDS))
    with pytest.raises(LimitsExceeded, match="tensors"):
        fetch(f"{NAME}@v1", limits=replace(SMALL, tensors=COUNT))
    assert len(rests(hub)) == 1


def test_a_huge_header_is_not_read(hub: HubEmulator, fetch: Fetch) -> None:
    weights = sparse_file(10**9 + 8, (10**9).to_bytes(8, "little"))
    hub.add(FakeRepo(NAME, {"model.safetensors": weights}))
    with pytest.raises(LimitsExceeded, match="header_bytes"):
        fetch()
    assert sum(request.body_bytes_sent for request in hub.requests) < 10**6
