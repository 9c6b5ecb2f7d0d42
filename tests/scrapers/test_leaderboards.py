"""Leaderboards of the Hub's benchmarks, read live and bounded."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given

from gpusizer.composition.shell import sizer_of
from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    LimitsExceeded,
    ModelUnreadable,
)
from gpusizer.core.settings import Settings
from gpusizer.hub.leaderboards import Leaderboard, LeaderboardEntry, ListLeaderboard
from gpusizer.quality.hub_boards import hub_benchmarks
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.leaderboards import MOST_ENTRIES, build_leaderboards, parse_leaderboard
from scrapers.limits import Limits
from tests.any_json import any_json
from tests.hub_emulator import Fault, HubEmulator
from tests.scrapers.conftest import settings_of

DAY = date(2026, 11, 20)
HLE = "cais/hle"
ENTRY = {
    "rank": 1,
    "modelId": "org/name",
    "value": 20.9,
    "filename": ".eval_results/hle.yaml",
    "verified": False,
    "author": {"type": "org", "name": "org"},
}


def leaderboards(hub: HubEmulator, on_call: OnCall = ignore_call) -> ListLeaderboard:
    settings = settings_of(hub, timeout_seconds=60.0)
    found = build_leaderboards(settings, on_call, today=lambda: DAY)
    assert found is not None
    return found


def test_one_request_serves_all(hub: HubEmulator) -> None:
    hub.catalog.leaderboards[HLE] = [
        {**ENTRY, "verified": True, "notes": "with\ttools\u202e"},
        {**ENTRY, "modelId": "org/other", "pullRequest": 3, "value": 18},
        {**ENTRY, "modelId": "org/third", "verified": "yes"},
    ]
    calls: list[tuple[str, int | None]] = []
    ask = leaderboards(hub, lambda kind, status: calls.append((kind, status)))
    assert ask(HLE) == ask(HLE)
    assert ask(HLE) == Leaderboard(
        (
            LeaderboardEntry("org/name", 20.9, "verified", "with tools\ufffd"),
            LeaderboardEntry("org/other", 18.0, "community"),
            LeaderboardEntry("org/third", 20.9, "maker"),
        ),
        DAY,
    )
    assert calls == [("api", 200)]
    (request,) = hub.requests
    assert request.path == f"/api/datasets/{HLE}/leaderboard"
    assert "authorization" not in {name.lower() for name in request.headers}


def test_the_shell_reads_them(hub: HubEmulator) -> None:
    hub.catalog.leaderboards[HLE] = [ENTRY]
    library = sizer_of(settings_of(hub, timeout_seconds=60.0), None).library
    assert library is not None and library.leaderboards is not None
    assert [entry.repo_id for entry in library.leaderboards(HLE).entries] == ["org/name"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault("status", status=429), HubRateLimited),
        (Fault("status", status=500), HubUnreachable),
        (
            Fault("status", status=403, headers={"X-Error-Code": "GatedRepo"}),
            GatedModel,
        ),
        (Fault("garbage", body=b"<html>"), HubUnreachable),
        (Fault("garbage", body=b'{"error": "x"}'), HubUnreachable),
        (Fault("garbage", body=b" " * (Limits().evaluations_bytes + 1)), LimitsExceeded),
        (Fault("reset"), HubUnreachable),
    ],
    ids=["busy", "down", "gated", "page", "object", "long", "reset"],
)
def test_a_failure_is_said_after_one_attempt(
    hub: HubEmulator, fault: Fault, error: type[ModelUnreadable]
) -> None:
    hub.catalog.leaderboards[HLE] = [ENTRY]
    hub.faults.add(fault)
    with pytest.raises(error):
        leaderboards(hub)(HLE)
    assert len(hub.requests) == 1
    hub.faults.clear()


def test_a_dataset_without_one_is_refused(hub: HubEmulator) -> None:
    with pytest.raises(ModelUnreadable):
        leaderboards(hub)("org/none")


def test_offline_there_are_none() -> None:
    assert build_leaderboards(Settings(offline=True)) is None


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "x",
        {**ENTRY, "modelId": "<b>/x"},
        {**ENTRY, "modelId": 3},
        {**ENTRY, "value": None},
        {**ENTRY, "value": float("nan")},
        {**ENTRY, "value": float("inf")},
        {**ENTRY, "value": True},
    ],
)
def test_a_malformed_entry_is_left_out(entry: Any) -> None:
    assert len(parse_leaderboard([entry, ENTRY], HLE, DAY).entries) == 1


def test_a_long_list_is_cut() -> None:
    many = [{**ENTRY, "modelId": f"org/m{number}"} for number in range(MOST_ENTRIES + 500)]
    assert len(parse_leaderboard(many, HLE, DAY).entries) == MOST_ENTRIES


@given(any_json())
def test_any_answer_is_parsed_or_refused(answer: Any) -> None:
    try:
        parsed = parse_leaderboard([answer], HLE, DAY)
    except HubUnreachable:
        return
    assert len(parsed.entries) <= 1


def test_the_table_names_one_benchmark_for_a_purpose() -> None:
    table = hub_benchmarks()
    assert table and all(purpose == row.purpose for purpose, row in table.items())
    assert all(row.source_url.startswith("https://huggingface.co/") for row in table.values())
