"""Requests to the Hub: how each is reported, and the allowance that the Hub states."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.errors import HubRateLimited, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.model.profile import build_profile
from gpusizer.text import LANGUAGES, say_note
from scrapers.cache.hub_access import HubAccess, open_own_access
from scrapers.client.allowance import RateLimitTracker, Window, kind_of, parse_window
from scrapers.fetcher import Fetcher
from scrapers.listings import build_lister
from tests.clock import Clock
from tests.hub_emulator import Fault, HubEmulator, llama_repo
from tests.scrapers.conftest import settings_of

HUB = "https://huggingface.co"
MIRROR = "http://mirror.test:81/hub"


@pytest.mark.parametrize(
    "url, endpoint, kind",
    [
        (f"{HUB}/api/models/a/b?blobs=true", HUB, "api"),
        (f"{HUB}/a/b/resolve/main/config.json", HUB, "resolver"),
        (f"{HUB}/api/resolve-cache/models/a/b/0123/config.json", HUB, "resolver"),
        (f"{HUB}/api-org/b/resolve/main/config.json", HUB, "resolver"),
        ("https://cas-bridge.xethub.hf.co/x", HUB, "cdn"),
        (f"{MIRROR}/api/models/a/b", MIRROR, "api"),
        (f"{MIRROR}/a/b/resolve/main/x", MIRROR, "resolver"),
        ("http://mirror.test:82/hub/api/models/a/b", MIRROR, "cdn"),
    ],
)
def test_kinds(url: str, endpoint: str, kind: str) -> None:
    assert kind_of(url, endpoint) == kind


Call = tuple[str, int | None]


def calls_of(hub: HubEmulator, settings: Settings) -> list[Call]:
    """Return the reports while a model is read, or cannot be."""
    calls: list[Call] = []
    fetch = Fetcher(settings, lambda kind, status: calls.append((kind, status)))
    with contextlib.suppress(ModelUnreadable):
        fetch(ModelRef("org/name"))
    return calls


def test_every_request_is_told(hub: HubEmulator) -> None:
    hub.add(llama_repo("org/name", shards=4))
    settings = settings_of(hub)
    calls = calls_of(hub, settings)
    assert len(calls) == len(hub.requests)
    kinds = Counter(kind for kind, _ in calls)
    assert kinds["api"] >= 1 and kinds["resolver"] + kinds["cdn"] >= 1
    assert ("api", 200) in calls


@pytest.mark.parametrize(("fault", "status"), [("status", 429), ("reset", None)])
def test_a_request_that_fails_is_told(hub: HubEmulator, fault: str, status: int | None) -> None:
    hub.add(llama_repo("org/name"))
    hub.faults.add(Fault(fault, r"/api/models/org/name$", status=status or 0))
    calls = calls_of(hub, Settings(endpoint=hub.endpoint, timeout_seconds=0.7))
    assert set(calls) == {("api", status)}


COLD, WARM = ModelRef("org/cold"), ModelRef("org/warm")
EMBEDDED = ModelRef("meta-llama/Llama-3.1-8B")
VISITOR = "hf_visitors_own"


def headers(name: str, remaining: int, seconds: int, quota: int = 500) -> dict[str, str]:
    policy = f'"fixed window";"{name}";q={quota};w=300'
    return {"RateLimit": f'"{name}";r={remaining};t={seconds}', "RateLimit-Policy": policy}


@pytest.mark.parametrize(
    "sent, read",
    [
        (headers("api", 499, 295), ("api", Window(499, 500, 1295.0))),
        (headers("resolvers", 0, 1, 3000), ("resolver", Window(0, 3000, 1001.0))),
        ({"RateLimit": '"api";r=7;t=60'}, ("api", Window(7, None, 1060.0))),
        ({"RateLimit": '"x";r=1;t=1, "api"; r=7; t=60'}, ("api", Window(7, None, 1060.0))),
        ({"RateLimit": '"api";r=0;t=999999'}, ("api", Window(0, None, 4600.0))),
        (headers("pages", 1, 1), None),
        ({}, None),
        ({"RateLimit": "limit=100, remaining=50, reset=5"}, None),
        ({"RateLimit": '"api";r=-1;t=5'}, None),
        ({"RateLimit": '"api";r=5'}, None),
        ({"RateLimit": '"api";' + "r=5;" * 10_000}, None),
    ],
)
def test_headers(sent: dict[str, str], read: tuple[str, Window] | None) -> None:
    assert parse_window(sent, 1000.0) == read


def test_the_window_has_an_end() -> None:
    clock = Clock()
    allowance = RateLimitTracker(clock)
    allowance.check("api", "a/b")
    assert not allowance.is_low("api")
    allowance.note(headers("api", 51, 300))
    assert not allowance.is_low("api")
    allowance.note(headers("api", 50, 299))
    assert allowance.is_low("api") and not allowance.is_low("resolver")
    allowance.check("api", "a/b")
    allowance.note(headers("api", 0, 200))
    with pytest.raises(HubRateLimited) as refusal:
        allowance.check("api", "a/b")
    assert refusal.value.fields == {"repo_id": "a/b", "retry_after_seconds": pytest.approx(200.0)}
    allowance.check("resolver", "a/b")
    clock.now += 200
    allowance.check("api", "a/b")
    assert not allowance.is_low("api")


def test_answers_that_arrive_late_do_not_count_back() -> None:
    clock = Clock()
    allowance = RateLimitTracker(clock)
    allowance.note(headers("api", 40, 200))
    allowance.note(headers("api", 400, 201))
    assert allowance.is_low("api")
    clock.now += 190
    allowance.note(headers("api", 499, 300))  # a new window
    assert not allowance.is_low("api")


@pytest.fixture
def settings(hub: HubEmulator, tmp_path: Path) -> Settings:
    for ref in (COLD, WARM):
        hub.add(llama_repo(ref.repo_id, shards=4))
    return settings_of(
        hub,
        timeout_seconds=60,
        cache_folder=tmp_path / "cache",
    )


def low(access: HubAccess, remaining: int = 20) -> HubAccess:
    access.allowance.note(headers("api", remaining, 290))
    return access


@pytest.fixture
def stale(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """WARM was read a while ago."""
    Fetcher(settings)(WARM)
    monkeypatch.setattr("scrapers.cache.snapshot_cache.COMMIT_SECONDS", -10.0)


@pytest.mark.usefixtures("stale")
def test_near_the_limit_known_models_are_answered_from_what_is_stored(
    hub: HubEmulator, settings: Settings
) -> None:
    hub.reset_log()
    fetch = Fetcher(settings, access=low(open_own_access(settings)))
    snapshot = fetch(WARM)
    assert snapshot.source == "cache" and hub.requests == []
    caveats = build_profile(snapshot).caveats
    note = Note("hub_allowance_low", date=snapshot.retrieved_at[:10])
    assert note in caveats
    assert "stale_cache" not in {caveat.code for caveat in caveats}, "the Hub can be reached"
    assert all(snapshot.retrieved_at[:10] in say_note(note, language) for language in LANGUAGES)
    embedded = fetch(EMBEDDED)
    assert embedded.source == "snapshot" and hub.requests == []
    assert "hub_allowance_low" in {note.code for note in embedded.notes}


@pytest.mark.usefixtures("stale")
def test_near_the_limit_a_model_never_read_is_read(hub: HubEmulator, settings: Settings) -> None:
    """The description is the only request to the API: shards are read from their files."""
    hub.reset_log()
    fetch = Fetcher(settings, access=low(open_own_access(settings)))
    snapshot = fetch(COLD)
    assert snapshot.source == "hub" and not snapshot.notes
    api = [
        request.path
        for request in hub.requests_to("hub")
        if request.path.startswith("/api/") and "resolve-cache" not in request.path
    ]
    assert api == ["/api/models/org/cold"]


@pytest.mark.usefixtures("stale")
def test_past_the_limit_the_hub_is_not_asked(hub: HubEmulator, settings: Settings) -> None:
    hub.reset_log()
    access = low(open_own_access(settings), 0)
    fetch, lister = Fetcher(settings, access=access), build_lister(settings, access=access)
    assert fetch(WARM).source == "cache"
    with pytest.raises(HubRateLimited) as refusal:
        fetch(COLD)
    seconds = refusal.value.fields["retry_after_seconds"]
    assert isinstance(seconds, float) and 0 < seconds <= 290
    with pytest.raises(HubRateLimited):
        lister(COLD.repo_id, False)
    assert hub.requests == []


def test_the_hubs_own_headers_are_obeyed(hub: HubEmulator, settings: Settings) -> None:
    """With an allowance of three requests none beyond is sent, and none is refused."""
    hub.options.rate_limits = {**hub.options.rate_limits, "api": (3, 1000)}
    hub.options.enforce_rate_limits = True
    fetch = Fetcher(replace(settings, cache_folder=None))
    for number in range(6):
        hub.add(llama_repo(f"org/n{number}"))
    outcomes = []
    for number in range(6):
        try:
            outcomes.append(fetch(ModelRef(f"org/n{number}")).source)
        except HubRateLimited:
            outcomes.append("limited")
    assert outcomes == ["hub"] * 3 + ["limited"] * 3
    api = [r for r in hub.requests_to("hub") if r.path.startswith("/api/models/org/n")]
    assert len(api) == 3


def test_a_visitors_token_has_an_allowance_of_its_own(hub: HubEmulator, settings: Settings) -> None:
    hub.options.valid_tokens = {VISITOR: set()}
    access = low(open_own_access(settings), 0)
    fetch = Fetcher(settings, access=access)
    assert fetch.for_visitor(VISITOR)(COLD).source == "hub"
    assert access.allowance.is_low("api"), "what the token has left says nothing of this address"
    fresh = open_own_access(settings)
    hub.options.rate_limits = {**hub.options.rate_limits, "api": (500, 1)}
    Fetcher(settings, access=fresh).for_visitor(VISITOR)(COLD)
    assert not fresh.allowance.is_low("api")
