"""HubSession over requests: a Hub that fails, stalls, lies or sends its readers elsewhere, and
requests in flight."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.errors import (
    HubRateLimited,
    HubUnreachable,
    LimitsExceeded,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
)
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.http import HubSession
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import PARALLEL_READS, PROCESS_READS, Limits
from scrapers.repository.hub import fetch_snapshot
from tests.counting import record_waits
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    literal_file,
    llama_repo,
    sharded_repo,
    sparse_safetensors_file,
)
from tests.hub_emulator.info import listed_file
from tests.scrapers.conftest import AMPLE, Fetch, read_info

REF = ModelRef("org/name")
INFO = r"/api/models/org/name$"


@pytest.fixture
def canary() -> Iterator[HubEmulator]:
    """Yield a server on another port, to which no redirect may lead."""
    with HubEmulator() as emulator:
        yield emulator


@pytest.fixture(autouse=True)
def repo(hub: HubEmulator, request: pytest.FixtureRequest) -> FakeRepo:
    """Return a small model; where the tree is to fail, one whose description lists no files."""
    repo = hub.add(llama_repo("org/name"))
    if "tree" in request.node.name:
        repo.info["siblings"] = None
    return repo


def whole_model(snapshot: RepoSnapshot) -> bool:
    """Whether every tensor of the two-layer Llama was read."""
    return sum(file.tensor_count for file in snapshot.components[0].files) == 21


IMPATIENT = replace(AMPLE, request_seconds=0.2, model_seconds=0.5)
PATIENT = replace(AMPLE, attempts=2)
FAILURES: dict[str, tuple[Fault, Limits, type[ModelUnreadable], str]] = {
    "limited": (Fault("status", status=429), IMPATIENT, HubRateLimited, "None"),
    "later": (
        Fault("status", status=429, headers={"Retry-After": "300"}),
        PATIENT,
        HubRateLimited,
        "300",
    ),
    "busy": (Fault("status", status=503), IMPATIENT, HubUnreachable, "server_error"),
    "teapot": (
        Fault("status", status=418, body=b"\xff" * 100_000),
        PATIENT,
        HubUnreachable,
        "unexpected_answer",
    ),
    "reset": (Fault("reset"), PATIENT, HubUnreachable, "connection"),
    "cut": (Fault("truncate", after=7), PATIENT, HubUnreachable, "truncated"),
    "silent": (Fault("hang"), IMPATIENT, HubUnreachable, "timeout"),
    "slow": (Fault("slow", piece=3, delay=0.05), IMPATIENT, HubUnreachable, "timeout"),
    "no JSON": (
        Fault("garbage", body=b"\x00<html>"),
        PATIENT,
        HubUnreachable,
        "unexpected_answer",
    ),
    "brackets": (
        Fault("garbage", body=b"[" * 300_000),
        PATIENT,
        HubUnreachable,
        "unexpected_answer",
    ),
    "elsewhere": (Fault("redirect_to"), PATIENT, HubUnreachable, "'redirect'"),
    "nowhere": (Fault("redirect_to", location="//["), PATIENT, HubUnreachable, "'redirect'"),
    "loop": (Fault("redirect_to", location="?again"), PATIENT, HubUnreachable, "redirect_loop"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_has_its_error(
    hub: HubEmulator, canary: HubEmulator, fetch: Fetch, name: str
) -> None:
    fault, limits, kind, text = FAILURES[name]
    hub.faults.add(replace(fault, match=INFO, location=fault.location or canary.endpoint))
    with pytest.raises(kind, match=text):
        fetch(limits=limits)
    assert canary.connections == 0


@pytest.mark.parametrize("path", ["config.json", r"/resolve/.*model\.safetensors$"])
@pytest.mark.parametrize("location", ["", "//[::1", "http://h:x/", "https://a..b/"])
def test_no_file_is_read_elsewhere(
    hub: HubEmulator, canary: HubEmulator, fetch: Fetch, path: str, location: str
) -> None:
    hub.faults.add(Fault("redirect_to", path, location=location or canary.endpoint))
    with pytest.raises(HubUnreachable, match="'redirect'"):
        fetch(limits=PATIENT)
    assert canary.connections == 0


def test_another_port_of_this_machine_is_trusted_only_by_name(hub: HubEmulator) -> None:
    with HubSession(hub.endpoint) as session, pytest.raises(HubUnreachable, match="'redirect'"):
        fetch_snapshot(REF, session, AMPLE)
    assert hub.requests_to("cdn") == []


def test_an_unanswered_port() -> None:
    with HubEmulator() as stopped_hub:
        endpoint = stopped_hub.endpoint
    with HubSession(endpoint) as session, pytest.raises(HubUnreachable, match="connection"):
        fetch_snapshot(REF, session, PATIENT)


@pytest.mark.parametrize("status", [503, 429])
def test_a_busy_hub_gets_seven_attempts(
    hub: HubEmulator, fetch: Fetch, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 7
    monkeypatch.setattr("scrapers.client.http.pause_seconds", lambda n, hint: 0.01)
    hub.faults.add(Fault("status", INFO, times=tries - 1, status=status))
    assert whole_model(fetch())
    hub.faults.add(Fault("status", INFO, times=tries, status=status))
    with pytest.raises((HubUnreachable, HubRateLimited)):
        fetch()


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


DRIP = Fault("drip", INFO, piece=1, delay=0.1)
BRIEF = replace(AMPLE, request_seconds=5.0, model_seconds=0.6)
EMPTY_GZIP = {"Content-Encoding": "gzip"}


class TestDrips:
    """An endless answer ends at the deadline, on the thread that reads it."""

    @pytest.mark.parametrize(
        "fault",
        [
            DRIP,
            Fault("slow", INFO, piece=1, delay=0.1),
            Fault("drip", INFO, piece=150, delay=0.1, body=bytes(10**5)),
            Fault(
                "drip",
                INFO,
                piece=30,
                delay=0.02,
                body=gzip.compress(b"") * 10**4,
                headers=EMPTY_GZIP,
            ),
        ],
        ids=["head", "body", "long body", "gzip of nothing"],
    )
    def test_the_reading_thread_is_free_at_the_deadline(
        self, hub: HubEmulator, session: HubSession, fault: Fault
    ) -> None:
        hub.faults.add(replace(fault))
        with pytest.raises(HubUnreachable, match="timeout"):
            read_info(session, ReadBudget("org/name", BRIEF))

    def test_tls_has_the_same_deadline(
        self, tls_hub: HubEmulator, trusted: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
        tls_hub.faults.add(replace(DRIP, body=bytes(10**5)))
        brief = replace(BRIEF, model_seconds=2.0)  # a handshake takes a part
        with (
            HubSession(tls_hub.endpoint) as session,
            pytest.raises(HubUnreachable, match="timeout"),
        ):
            read_info(session, ReadBudget("org/name", brief))
        assert len(tls_hub.requests) == 1

    def test_lengths_of_chunks_that_drip(self, hub: HubEmulator, fetch: Fetch) -> None:
        """Small files come in chunks; here a byte at a time, lengths included."""
        hub.faults.add(Fault("drip", "/api/resolve-cache/", piece=1, delay=0.05))
        with pytest.raises(HubUnreachable, match="timeout"):
            fetch(limits=BRIEF)

    def test_no_thread_is_left_behind(self, hub: HubEmulator, fetch: Fetch) -> None:
        hub.faults.add(replace(DRIP))
        with pytest.raises(HubUnreachable, match="timeout"):
            fetch(limits=BRIEF)
        readers = [thread for thread in threading.enumerate() if "hub-read" in thread.name]
        for thread in readers:
            thread.join(60)
        assert not any(thread.is_alive() for thread in readers)


class TestRedirects:
    def test_a_long_body_of_a_redirect_is_not_read(
        self, hub: HubEmulator, session: HubSession
    ) -> None:
        relative_url = "/api/models/org/name?blobs=true&again"
        fault = Fault("redirect_to", INFO, times=1, location=relative_url, body=bytes(10**8))
        hub.faults.add(fault)
        budget = ReadBudget("org/name", AMPLE)
        read_info(session, budget)
        assert budget.bytes_read < 200_000
        assert hub.requests[0].body_bytes_sent < 50_000_000

    def test_odd_characters_are_escaped(self, hub: HubEmulator, session: HubSession) -> None:
        location = "/api/models/org/name?blobs=true&caf\xe9=%41"
        hub.faults.add(Fault("redirect_to", INFO, times=1, location=location))
        read_info(session)
        assert hub.requests[1].query == "blobs=true&caf%C3%A9=A"


def test_a_failure_closes_all_idle_connections(hub: HubEmulator, session: HubSession) -> None:
    """A middlebox that dropped one idle connection silently has dropped the others as well."""

    def connections_of_three_requests() -> int:
        hub.expect_waves(3)  # so that each has a connection of its own
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: read_info(session), range(3)))
        return hub.connections

    assert connections_of_three_requests() == 3
    assert connections_of_three_requests() == 0
    hub.expect_waves()
    hub.faults.add(Fault("hang", INFO, times=1))
    read_info(session, ReadBudget("org/name", replace(AMPLE, request_seconds=0.6)))
    assert hub.connections == 1
    assert connections_of_three_requests() == 2


class TestRequestsInFlight:
    SHARDS = 80

    @pytest.fixture(autouse=True)
    def models(self, hub: HubEmulator) -> None:
        weights = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(self.SHARDS)}
        for number in range(4):
            repo = sharded_repo(f"org/m{number}", weights, self.SHARDS, {"model_type": "x"})
            repo.revisions["v1"] = repo.sha
            hub.add(repo)
        hub.options.latency = 0.1

    def read(self, hub: HubEmulator, number: int) -> int:
        with HubSession(hub.endpoint, cdn_origins=[hub.cdn_endpoint]) as session:
            snapshot = fetch_snapshot(ModelRef(f"org/m{number}", "v1"), session, Limits())
        return len(snapshot.components[0].files)

    def test_one_model(self, hub: HubEmulator) -> None:
        assert self.read(hub, 0) == self.SHARDS
        assert PARALLEL_READS / 2 < hub.peak_concurrency <= PARALLEL_READS == 32

    def test_several_models_at_once(self, hub: HubEmulator) -> None:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda number: self.read(hub, number), range(4))) == [80] * 4
        assert PARALLEL_READS < hub.peak_concurrency <= PROCESS_READS == 64
