"""Fetcher: live answers, stored ones, and messages to a waiting reader."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    ModelNotFound,
    RevisionNotFound,
)
from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import ReadingStep, ignore_step, watched
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import build_profile
from scrapers.fetcher import Fetcher
from scrapers.repository.read_steps import Watchers
from tests.builders import tiny
from tests.hub_emulator import Fault, HubEmulator, gguf_repo, llama_repo
from tests.scrapers.conftest import settings_of

KNOWN = ModelRef("meta-llama/Llama-3.1-8B")
UNKNOWN = ModelRef("org/name")


@pytest.fixture
def fetch(hub: HubEmulator) -> Fetcher:
    return Fetcher(settings_of(hub, timeout_seconds=60.0))


def test_offline() -> None:
    fetch = Fetcher(Settings(endpoint="http://127.0.0.1:1", offline=True))
    assert fetch(KNOWN).source == "snapshot"
    for ref in (UNKNOWN, ModelRef(KNOWN.repo_id, "v9")):
        with pytest.raises(HubUnreachable, match="offline"):
            fetch(ref)


def test_live_hub_comes_first(hub: HubEmulator, fetch: Fetcher) -> None:
    hub.add(llama_repo(KNOWN.repo_id))
    snapshot = fetch(KNOWN)
    assert (snapshot.source, snapshot.components[0].files[0].tensor_count) == ("hub", 21)


def test_what_is_known_is_what_a_call_returns_without_asking(
    hub: HubEmulator, fetch: Fetcher
) -> None:
    public, gated = ModelRef("org/public"), ModelRef("org/gated")
    hub.add(llama_repo(public.repo_id))
    hub.add(llama_repo(gated.repo_id, gated="manual"))
    for ref in (public, gated):
        assert fetch.known(ref) is None
    snapshot = fetch(public)
    with suppress(GatedModel):
        fetch(gated)
    asked = len(hub.requests)
    assert fetch.known(public) is snapshot
    assert fetch.known(gated) is None, "a second repository may complete it"
    assert len(hub.requests) == asked


def test_offline_everything_stored_is_known() -> None:
    fetch = Fetcher(Settings(endpoint="http://127.0.0.1:1", offline=True))
    assert fetch.known(KNOWN) == fetch(KNOWN)
    assert fetch.known(UNKNOWN) is None


BRIEF_SECONDS = 0.7
FAILURES = {
    "down": Fault("status", status=503),
    "silent": Fault("hang"),
    "rate limited": Fault("status", status=429, headers={"Retry-After": "300"}),
}


@pytest.mark.parametrize("name", FAILURES)
def test_hub_away(hub: HubEmulator, name: str) -> None:
    hub.faults.add(FAILURES[name])
    fetch = Fetcher(settings_of(hub, timeout_seconds=BRIEF_SECONDS))
    assert fetch(ModelRef(KNOWN.repo_id, "main")).source == "snapshot"
    for ref in (UNKNOWN, ModelRef(KNOWN.repo_id, "v9")):
        with pytest.raises((HubUnreachable, HubRateLimited)):
            fetch(ref)


def test_gate(hub: HubEmulator, fetch: Fetcher) -> None:
    """An embedded model costs one request, which shows that there is a gate."""
    hub.add(llama_repo(KNOWN.repo_id, gated="manual", shards=4))
    hub.add(llama_repo(UNKNOWN.repo_id, gated="manual"))
    snapshot = fetch(KNOWN)
    assert snapshot.source == "snapshot" and snapshot.gated
    assert len(hub.requests) == 1
    assert fetch(UNKNOWN).components[0].totals is not None


def test_an_embedded_copy_does_not_replace_a_not_found_error(
    hub: HubEmulator, fetch: Fetcher
) -> None:
    hub.add(llama_repo(KNOWN.repo_id))
    with pytest.raises(ModelNotFound):
        fetch(UNKNOWN)
    with pytest.raises(RevisionNotFound):
        fetch(ModelRef(KNOWN.repo_id, "v9"))


@pytest.fixture
def keeping(hub: HubEmulator, tmp_path: Path) -> Settings:
    """Return settings with a cache on disk."""
    return settings_of(
        hub,
        timeout_seconds=60.0,
        cache_folder=tmp_path / "cache",
    )


def test_a_new_process_reads_from_the_disk_cache(hub: HubEmulator, keeping: Settings) -> None:
    hub.add(llama_repo("org/name"))
    first = Fetcher(keeping)(UNKNOWN)
    hub.reset_log()
    assert Fetcher(keeping)(UNKNOWN) == first
    assert hub.requests == []


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets the time pass in which an answer from disk is believed."""

    def pass_time() -> None:
        monkeypatch.setattr("scrapers.cache.snapshot_cache.COMMIT_SECONDS", -10.0)

    return pass_time


def test_an_expired_entry_is_confirmed_by_one_request(
    hub: HubEmulator, keeping: Settings, later: Callable[[], None]
) -> None:
    hub.add(llama_repo("org/name", shards=4))
    first = Fetcher(keeping)(UNKNOWN)
    later()
    hub.reset_log()
    assert Fetcher(keeping)(UNKNOWN) == first
    assert len(hub.requests) == 1


@pytest.mark.parametrize("name", FAILURES)
def test_last_known_answer_when_the_hub_is_away(
    hub: HubEmulator, keeping: Settings, later: Callable[[], None], name: str
) -> None:
    hub.add(llama_repo("org/name"))
    first = Fetcher(keeping)(UNKNOWN)
    later()
    hub.faults.add(FAILURES[name])
    hasty = replace(keeping, timeout_seconds=BRIEF_SECONDS)
    stale = Fetcher(hasty)(UNKNOWN)
    assert stale == first.with_source("cache")
    assert Note("stale_cache", date=first.retrieved_at[:10]) in build_profile(stale).caveats
    with pytest.raises((HubUnreachable, HubRateLimited)):
        Fetcher(hasty)(ModelRef("org/name", "v9"))


def test_offline_answers_from_disk(hub: HubEmulator, keeping: Settings) -> None:
    hub.add(llama_repo("org/name"))
    Fetcher(keeping)(UNKNOWN)
    hub.reset_log()
    assert Fetcher(replace(keeping, offline=True))(UNKNOWN).source == "cache"
    assert hub.requests == []


def test_withdrawn_model_is_forgotten(
    hub: HubEmulator, keeping: Settings, later: Callable[[], None]
) -> None:
    """A withdrawn model is not served from disk either, not even when away."""
    hub.add(llama_repo("org/name"))
    Fetcher(keeping)(UNKNOWN)
    later()
    hub.add(llama_repo("org/name", private=True))
    with pytest.raises(ModelNotFound):
        Fetcher(keeping)(UNKNOWN)
    with pytest.raises(HubUnreachable, match="offline"):
        Fetcher(replace(keeping, offline=True))(UNKNOWN)


def test_questions_are_answered_once(hub: HubEmulator, fetch: Fetcher) -> None:
    hub.add(llama_repo("org/name"))
    hub.options.latency = 0.05
    with ThreadPoolExecutor(8) as pool:
        snapshots = list(pool.map(fetch, [UNKNOWN] * 16))
    assert all(snapshot is snapshots[0] for snapshot in snapshots)
    assert len(hub.requests) == 5


REF = ModelRef("org/name")


def fetcher(hub: HubEmulator) -> Fetcher:
    return Fetcher(settings_of(hub))


def names(steps: list[ReadingStep]) -> list[str]:
    return list(dict.fromkeys(step.name for step in steps))


def test_a_read_tells_of_its_files_its_headers_and_its_end(hub: HubEmulator) -> None:
    repo = hub.add(llama_repo(REF.repo_id, shards=4))
    steps: list[ReadingStep] = []
    fetch = fetcher(hub)
    watched(fetch, steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]
    assert steps[0].count == len(repo.files)
    assert [step for step in steps if step.name == "headers"][-1] == ReadingStep("headers", 4, 4)
    steps.clear()
    watched(fetch, steps.append)(REF)
    assert steps == [], "what is cached is not read"


def test_headers_of_gguf_files_are_counted(hub: HubEmulator) -> None:
    hub.add(gguf_repo(REF.repo_id))
    steps: list[ReadingStep] = []
    watched(fetcher(hub), steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]
    counted = [step for step in steps if step.name == "headers"][-1]
    assert counted.count == counted.total > 0


def test_a_visitors_read_is_watched_too(hub: HubEmulator) -> None:
    token = "hf_" + "a" * 34
    hub.add(llama_repo(REF.repo_id))
    hub.options.valid_tokens = {token: frozenset({REF.repo_id})}
    steps: list[ReadingStep] = []
    watched(fetcher(hub).for_visitor(token), steps.append)(REF)
    assert names(steps) == ["files", "headers", "read"]


def test_all_who_wait_for_one_read_are_told() -> None:
    watchers, first, second = Watchers(), list[ReadingStep](), list[ReadingStep]()
    files, headers, read = (
        ReadingStep("files", 9),
        ReadingStep("headers", 1, 2),
        ReadingStep("read"),
    )
    with watchers.watching(REF, first.append):
        watchers.tell(REF, files)
        with watchers.watching(REF, second.append):
            watchers.tell(REF, headers)
            watchers.tell(ModelRef("org/other"), files)
        watchers.tell(REF, read)
    watchers.tell(REF, read)
    assert (first, second) == ([files, headers, read], [headers])


def test_a_fetcher_without_steps_stays_as_it_is() -> None:
    def fetch(ref: ModelRef) -> RepoSnapshot:
        return tiny()

    assert watched(fetch, ignore_step) is fetch
