"""Every fault at every stage of reading: the whole answer, or an error that says why.

Whatever happens, nothing else is raised, nobody is sent elsewhere, and nothing but a whole
answer is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from gpusizer.core.errors import HubRateLimited, HubUnreachable, MalformedRepo, ModelUnreadable
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.failures import pause_seconds
from scrapers.client.http import HubSession
from scrapers.limits import Limits
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, literal_file
from tests.nightly import some
from tests.scrapers.test_bad_answers import repos

HASTY = Limits(
    request_seconds=0.15, headers_seconds=0.2, model_seconds=0.6, attempts=2, parallel_reads=8
)
# For errors that say what came, however late on a busy machine.
UNHURRIED = replace(HASTY, request_seconds=60.0, headers_seconds=60.0, model_seconds=60.0)
# For what is to succeed in the end, on a busy machine as well.
PATIENT = replace(HASTY, request_seconds=0.7, model_seconds=60.0, attempts=6)
SINGLE, SHARDED, UNNUMBERED = ModelRef("org/one"), ModelRef("org/many-8B"), ModelRef("org/odd")
TAGGED = ModelRef("org/tagged-8B", "v1")

# Stage -> the model that has it, requests that belong to it, whether the model can do without
STAGES: dict[str, tuple[ModelRef, str, bool]] = {
    "info": (SINGLE, r"^/api/models/org/one$", False),
    "tree": (ModelRef("org/paged"), "/tree/", False),
    "config": (SINGLE, r"config\.json$", False),
    "config after its redirect": (SINGLE, "/api/resolve-cache/", False),
    "extra config": (ModelRef("org/gptq"), r"quantize_config\.json$", False),
    "headers route": (SHARDED, "/safetensors-metadata/", True),
    "index": (UNNUMBERED, r"index\.json$", False),
    "header redirect": (SINGLE, r"/resolve/.*model\.safetensors$", False),
    "header": (SINGLE, "^/xet-bridge", False),
    "shard redirect": (TAGGED, r"/resolve/.*00002-of-", False),
    "shard": (TAGGED, "^/xet-bridge", False),
}

FAULTS: dict[str, Fault] = {
    "429": Fault("status", status=429),
    "429 now": Fault("status", status=429, headers={"Retry-After": "0"}),
    "429 later": Fault("status", status=429, headers={"Retry-After": "300"}),
    "429 nonsense": Fault("status", status=429, headers={"Retry-After": "-1e9"}),
    "500": Fault("status", status=500),
    "503": Fault("status", status=503),
    "404": Fault("status", status=404),
    "418": Fault("status", status=418, body=b"\xff" * 100_000),
    "reset": Fault("reset"),
    "hang": Fault("hang"),
    "truncate": Fault("truncate", after=7),
    "truncate all": Fault("truncate", after=0),
    "slow": Fault("slow", piece=3, delay=0.05),
    "ignore range": Fault("ignore_range"),
    "garbage": Fault("garbage", body=b"\x00\xff<html>"),
    "empty": Fault("garbage", body=b""),
    "json list": Fault("garbage", body=b"[]"),
    "json object": Fault("garbage", body=b'{"a":0}'),
    "brackets": Fault("garbage", body=b"[" * 300_000),
    "not modified": Fault("garbage", status=304, body=b""),
    "loop": Fault("redirect_to", location="?again"),
    "elsewhere": Fault("redirect_to"),  # to the canary
}
WHOLE = ("info", "headers route", "header")


@pytest.fixture(scope="module")
def emulator() -> Iterator[HubEmulator]:
    with HubEmulator(repos()) as hub:
        yield hub


@pytest.fixture(scope="module")
def canary() -> Iterator[HubEmulator]:
    with HubEmulator([FakeRepo("org/one")]) as hub:
        yield hub


@pytest.fixture(scope="module")
def expected(emulator: HubEmulator) -> dict[ModelRef, RepoSnapshot]:
    refs = {ref for ref, _, _ in STAGES.values()}
    return {ref: read(emulator, ref, PATIENT) for ref in refs}


def read(hub: HubEmulator, ref: ModelRef, limits: Limits = HASTY) -> RepoSnapshot:
    """Read a model with a new session and without a cache."""
    with HubSession(hub.endpoint, cdn_origins=[hub.cdn_endpoint]) as session:
        if ref == UNNUMBERED:
            session.headers_route.trip(60)
        return fetch_snapshot(ref, session, limits)


def comparable(snapshot: RepoSnapshot) -> RepoSnapshot:
    """What no fault may change: everything but the time of reading."""
    return replace(snapshot, retrieved_at="")


@pytest.fixture(autouse=True)
def healed(emulator: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Repetitions that nobody asked to wait for come at once."""
    monkeypatch.setattr(
        "scrapers.client.http.pause_seconds",
        lambda n, hint: pause_seconds(n, hint) / (99 if hint is None else 1),
    )
    yield
    emulator.faults.clear()


def at_stages(names: Sequence[str], of: int) -> list[tuple[str, str]]:
    """By day all faults where a reading begins, at the route of headers and at the first bytes of
    weights, elsewhere one of so many, others at each."""
    return [
        (name, stage)
        for number, stage in enumerate(STAGES)
        for name in (names if stage in WHOLE else some(names, of=of, start=number))
    ]


@pytest.mark.parametrize(("name", "stage"), at_stages(list(FAULTS), of=5))
def test_fault_that_lasts(
    emulator: HubEmulator,
    canary: HubEmulator,
    expected: dict[ModelRef, RepoSnapshot],
    name: str,
    stage: str,
) -> None:
    ref, match, dispensable = STAGES[stage]
    expected_snapshot = expected[ref]
    fault = replace(FAULTS[name], match=match)
    if fault.kind == "redirect_to":
        fault.location = fault.location or f"{canary.endpoint}/api/models/org/one"
    emulator.faults.add(fault)
    try:
        snapshot_read = read(emulator, ref, PATIENT if dispensable else HASTY)
    except ModelUnreadable as error:
        assert not dispensable, error
        assert {"repo_id"} <= error.fields.keys()
    else:
        assert comparable(snapshot_read) == comparable(expected_snapshot)
    assert canary.connections == 0


SAID: dict[str, tuple[type[ModelUnreadable], str]] = {
    "429": (HubRateLimited, "retry_after"),
    "429 later": (HubRateLimited, "300"),
    "503": (HubUnreachable, "server_error"),
    "reset": (HubUnreachable, "connection"),
    "hang": (HubUnreachable, "timeout"),
    "slow": (HubUnreachable, "timeout"),
    "garbage": (HubUnreachable, "unexpected_answer"),
    "elsewhere": (HubUnreachable, "redirect"),
    "loop": (HubUnreachable, "redirect_loop"),
}


@pytest.mark.parametrize("name", SAID)
def test_each_fault_has_its_error(emulator: HubEmulator, canary: HubEmulator, name: str) -> None:
    kind, text = SAID[name]
    fault = replace(FAULTS[name], match=STAGES["info"][1])
    if fault.kind == "redirect_to":
        fault.location = fault.location or canary.endpoint
    emulator.faults.add(fault)
    with pytest.raises(kind, match=text):
        read(emulator, SINGLE, HASTY if text == "timeout" else UNHURRIED)


@pytest.mark.parametrize(
    ("stage", "path"),
    [("config", "config.json"), ("index", "model.safetensors.index.json")],
)
def test_contradiction_is_the_repositorys(emulator: HubEmulator, stage: str, path: str) -> None:
    """A file that came as it is listed is the owner's; another one is no answer."""
    ref, match, _ = STAGES[stage]
    emulator.faults.add(replace(FAULTS["brackets"], match=match))
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        read(emulator, ref, UNHURRIED)
    emulator.faults.clear()
    repo = emulator.catalog.repos[ref.repo_id]
    brackets = literal_file(b"[" * 300_000)
    emulator.add(replace(repo, files=repo.files | {path: brackets}))
    try:
        with pytest.raises(MalformedRepo):
            read(emulator, ref, UNHURRIED)
    finally:
        emulator.add(repo)
