"""Headers in their turn: parsed by who asks, long ones read when needed, in little memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.core.errors import LimitsExceeded
from gpusizer.core.units import KIB, MIB
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    LoggedRequest,
    sparse_file,
)
from tests.hub_emulator.log import round_trips
from tests.nightly import some
from tests.scrapers.conftest import QUICK, Fetch
from tests.scrapers.long_headers import (
    TensorName,
    memory_of_reading,
    odd_name,
    tagged_repo,
    usual_name,
)

SHARDS, TENSORS = 4, 200
WEIGHTS = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}
SMALL = replace(QUICK, first_read_bytes=4 * KIB, long_header_bytes=8 * KIB)
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
    hub.add(tagged_repo(usual_name, SHARDS, 20 * KIB))
    hub.options.latency = 0.2
    (component,) = fetch("org/name@v1", limits=replace(SMALL, long_header_bytes=long)).components
    assert [file.tensor_count > TENSORS for file in component.files] == [True] * SHARDS
    assert len(rests(hub)) == SHARDS
    assert (round_trips(rests(hub)) == SHARDS) is in_turn


def test_no_header_is_read_after_the_tensor_limit(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(tagged_repo(usual_name, SHARDS, 20 * KIB))
    with pytest.raises(LimitsExceeded, match="tensors"):
        fetch("org/name@v1", limits=replace(SMALL, tensors=TENSORS))
    assert len(rests(hub)) == 1


HOSTILE: list[tuple[TensorName, int, int, str]] = [
    (usual_name, 31, 8_300_000, "tensors"),
    (odd_name, 14, 7_900_000, "tensor_groups"),
    (odd_name, 120, 950_000, "tensor_groups"),
    (usual_name, 120, 950_000, "tensors"),
]


@pytest.mark.parametrize(("name", "shards", "header_bytes", "limit"), some(HOSTILE, of=3))
def test_memory_of_a_hostile_repository(
    hub: HubEmulator, name: TensorName, shards: int, header_bytes: int, limit: str
) -> None:
    hub.add(tagged_repo(name, shards, header_bytes))
    exceeded, peak_megabytes = memory_of_reading(hub)
    assert (exceeded, peak_megabytes < MOST_MB) == (limit, True), peak_megabytes
