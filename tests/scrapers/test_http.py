"""A Hub that fails, stalls, lies about sizes, or sends its readers elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpusizer.core.errors import (
    HubRateLimited,
    HubUnreachable,
    LimitsExceeded,
    ModelNotFound,
    PrivateOrMissing,
)
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.failures import pause_seconds
from scrapers.client.http import HubSession
from scrapers.repository.hub import fetch_snapshot
from tests.counting import record_waits
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    literal_file,
    llama_repo,
    sparse_safetensors_file,
)
from tests.hub_emulator.info import listed_file
from tests.scrapers.conftest import AMPLE, Fetch

INFO = r"/api/models/org/name$"
WEIGHTS = r"model\.safetensors$"
IMPATIENT = replace(AMPLE, model_seconds=0.8, request_seconds=0.3)


@pytest.fixture
def canary() -> Iterator[HubEmulator]:
    """A server on another port, to which no redirect may lead."""
    with HubEmulator() as emulator:
        yield emulator


@pytest.fixture(autouse=True)
def repo(hub: HubEmulator, request: pytest.FixtureRequest) -> FakeRepo:
    """A small model; where the tree is to fail, one whose description lists no files."""
    repo = hub.add(llama_repo("org/name"))
    if "tree" in request.node.name:
        repo.info["siblings"] = None
    return repo


def whole_model(snapshot: RepoSnapshot) -> bool:
    """Whether every tensor of the two-layer Llama was read."""
    return sum(file.tensor_count for file in snapshot.components[0].files) == 21


@pytest.mark.parametrize("status", [429, 503])
def test_every_request_is_refused_twice(
    hub: HubEmulator, fetch: Fetch, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 63 requests to a busy Hub is retried until it succeeds, within the model's time."""
    repo = hub.add(llama_repo("org/busy-8B", layers=30, shards=30))
    repo.revisions["v1"] = repo.sha
    expected = fetch("org/busy-8B@v1")
    assert len(hub.requests) == 63
    attempts: Counter[str] = Counter()

    def is_refused(path: str) -> bool:
        attempts[path] += 1
        return attempts[path] <= 2

    hub.faults.add(Fault("status", is_refused, status=status))
    monkeypatch.setattr(
        "scrapers.client.http.pause_seconds", lambda n, hint: pause_seconds(n, hint) / 25
    )
    assert replace(fetch("org/busy-8B@v1"), retrieved_at="") == replace(expected, retrieved_at="")


@pytest.mark.parametrize(("status", "tries"), [(503, 7), (429, 7)])
def test_a_busy_hub_gets_seven_attempts(
    hub: HubEmulator,
    fetch: Fetch,
    status: int,
    tries: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scrapers.client.http.pause_seconds", lambda n, hint: 0.01)
    hub.faults.add(Fault("status", INFO, times=tries - 1, status=status))
    assert whole_model(fetch())
    hub.faults.add(Fault("status", INFO, times=tries, status=status))
    with pytest.raises((HubUnreachable, HubRateLimited)):
        fetch()


def test_unanswered_port() -> None:
    with HubEmulator() as stopped_hub:
        endpoint = stopped_hub.endpoint
    with HubSession(endpoint) as session, pytest.raises(HubUnreachable, match="connection"):
        fetch_snapshot(ModelRef("org/name"), session, replace(IMPATIENT, model_seconds=8.0))


def test_rate_limit_beyond_the_deadline(hub: HubEmulator, fetch: Fetch) -> None:
    hub.options.enforce_rate_limits = True
    hub.options.rate_limits = hub.options.rate_limits | {"api": (0, 0)}
    with pytest.raises(HubRateLimited) as caught:
        fetch()
    assert caught.value.fields == {"repo_id": "org/name", "retry_after_seconds": 295.0}
    assert sum("/api/models" in request.path for request in hub.requests) <= 4


def test_a_short_retry_after_is_waited(
    hub: HubEmulator, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.faults.add(Fault("status", INFO, times=1, status=429, headers={"Retry-After": "1"}))
    waits = record_waits(monkeypatch)
    assert whole_model(fetch())
    assert any(1 <= seconds < 2 for seconds in waits)


def test_a_missing_file_is_not_tried_again(hub: HubEmulator, fetch: Fetch) -> None:
    with pytest.raises((ModelNotFound, PrivateOrMissing)):
        fetch("org/none")
    assert len({request.path for request in hub.requests}) == len(hub.requests)


def test_wrong_range_is_refused(hub: HubEmulator, fetch: Fetch) -> None:
    hub.faults.add(Fault("garbage", host="cdn", headers={"Content-Range": "bytes 5-9/100"}))
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        fetch()


def test_compressed_bomb_is_cut_off(hub: HubEmulator, fetch: Fetch, repo: FakeRepo) -> None:
    config = replace(repo.files["config.json"], head=b'{"a":"', size=50 * 10**6)
    hub.add(replace(repo, files=repo.files | {"config.json": config}))
    with pytest.raises(LimitsExceeded, match="config_bytes"):
        fetch(limits=replace(AMPLE, request_seconds=5.0))


def test_link_header_of_the_tree_names_no_host(
    hub: HubEmulator, canary: HubEmulator, fetch: Fetch
) -> None:
    link = f'<{canary.endpoint}/api/models/org/name/tree/main?cursor=MQ==>; rel="next"'
    hub.faults.add(Fault("slow", "/tree/", times=1, piece=2**18, headers={"Link": link}))
    assert whole_model(fetch())
    assert canary.requests == []
    assert sum("cursor=MQ" in request.query for request in hub.requests) == 1


def test_nothing_of_the_environment_is_sent(
    hub: HubEmulator, fetch: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w", encoding="utf-8") as file:
        file.write("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", netrc)
    monkeypatch.setenv("HF_TOKEN", "hf_operator")
    hub.faults.add(Fault("slow", INFO, piece=2**18, headers={"Set-Cookie": "a=b; Path=/"}))
    assert whole_model(fetch())
    assert whole_model(fetch())
    for request in hub.requests:
        assert "authorization" not in request.headers
        assert "cookie" not in request.headers
        assert request.headers["user-agent"].startswith("gpusizer")


def test_connections_are_used_again(hub: HubEmulator, fetch: Fetch) -> None:
    hub.options.latency = 0.05  # so that requests which are sent together overlap in both reads
    fetch()
    # the description; configuration, model card, and the weights after a redirect
    assert len(hub.requests) == 5
    assert hub.connections <= 4
    hub.reset_log()
    fetch()
    assert len(hub.requests) > 0
    assert hub.connections == 0


def test_push_between_two_reads(hub: HubEmulator, fetch: Fetch, repo: FakeRepo) -> None:
    """The description names a commit, at which all files are read, whatever the branch has now."""
    new = sparse_safetensors_file({"a": ("F32", (2,))})
    sha = "0123456789abcdef0123456789abcdef01234567"
    card = literal_file("It needs 48GB of VRAM.\n")
    files = repo.files | {"model.safetensors": new, "README.md": card}
    newer = replace(repo, sha=sha, files=files)
    repo.revisions[sha] = newer.files
    repo.info["sha"] = sha
    repo.info["siblings"] = [listed_file(path, file) for path, file in newer.files.items()]
    fetched = fetch()
    assert fetched.sha == sha
    assert fetched.components[0].files[0].tensor_count == 1
    assert [item.vram_gb for item in fetched.card.statements] == [48.0]
