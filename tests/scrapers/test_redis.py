"""A Redis that several processes share: away and back, one flight for all, tokens kept out."""

from __future__ import annotations

import json
import logging
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

import pytest
import redis

from gpusizer.composition.shared import open_access, shared_counter
from gpusizer.core.cpu_limiter import CpuLimiter
from gpusizer.core.errors import InvalidRequest, ModelNotFound, ModelUnreadable, ServerBusy
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from scrapers import fetcher
from scrapers.cache import redis_link
from scrapers.cache.redis_link import PREFIX, RedisEntries, RedisFlights, RedisLink
from scrapers.fetcher import Fetcher
from tests.clock import Clock
from tests.hub_emulator import HubEmulator, llama_repo
from tests.redis_server import RedisServer, need_redis
from tests.scrapers.conftest import settings_of

REF = ModelRef("org/name")
VISITOR = "hf_visitors_own"


def shared_settings(hub: HubEmulator, url: str) -> Settings:
    return settings_of(hub, timeout_seconds=20, cache_url=url)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """Yield a server that the test may stop."""
    need_redis()
    with RedisServer(tmp_path) as server:
        yield server


def test_away_and_back(own_redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    """While Redis is away its entries are none; one line says so, and one that it is back."""
    clock = Clock()
    link = RedisLink(own_redis.url, clock)
    entries = RedisEntries(link)
    entries.write("a", b"1")
    assert entries.read("a") == b"1" and link.is_reachable
    own_redis.stop()
    for _ in range(3):
        assert entries.read("a") is None
        entries.write("a", b"2")
        entries.remove("a")
    assert not link.is_reachable
    own_redis.start()
    assert entries.read("a") is None, "it is left alone for a while"
    clock.now += 60
    assert link.is_reachable
    entries.write("a", b"3")
    assert entries.read("a") == b"3"
    lines = [record.message for record in caplog.records if record.name == redis_link.__name__]
    assert [line.split(" ")[4:5] for line in lines] == [["away"], ["back"]]


def test_a_server_started_anew_between_two_commands_is_not_away(own_redis: RedisServer) -> None:
    entries = RedisEntries(RedisLink(own_redis.url))
    entries.write("a", b"1")
    own_redis.stop()
    own_redis.start()
    entries.write("b", b"2")
    assert entries.read("b") == b"2"


def test_models_are_read_without_redis(
    hub: HubEmulator, own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    hub.add(llama_repo("org/name"))
    settings = shared_settings(hub, own_redis.url)
    fetch = Fetcher(settings, access=open_access(settings))
    own_redis.stop()
    assert fetch(REF).repo_id == "org/name"
    assert "away" in caplog.text


def test_a_password_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = Settings.from_environment(
        {"GPUSIZER_CACHE_URL": "redis://user:canary-password@127.0.0.1:1/0"}
    )
    access = open_access(settings)
    assert access.cache is not None and access.cache.fresh(REF) is None
    assert "canary-password" not in f"{settings!r} {access!r} {caplog.text}"
    assert "away" in caplog.text
    with pytest.raises(InvalidRequest) as refusal:
        Settings.from_environment({"GPUSIZER_CACHE_URL": "http://:canary-password@host/"})
    assert "canary-password" not in str(refusal.value)


@pytest.mark.parametrize("open_shared", [open_access, shared_counter])
def test_without_the_package_the_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch, open_shared: Callable[[Settings], object]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("scrapers.cache.redis_link", "gpusizer.ui.server.shared_counter"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert open_shared(Settings()) is not None or open_shared is shared_counter
    with pytest.raises(InvalidRequest, match="needs_redis"):
        open_shared(Settings(cache_url="redis://127.0.0.1:1/0"))


def _read_cold(
    settings: Settings, refs: list[ModelRef], barrier: Barrier, results: multiprocessing.Queue[str]
) -> None:
    """Act as a replica: read models, several callers of each at once."""
    fetch = Fetcher(settings, access=open_access(settings))
    barrier.wait(60)
    for ref in refs:
        with ThreadPoolExecutor(4) as pool:
            for snapshot in pool.map(lambda _, ref=ref: _shown(fetch, ref), range(4)):
                results.put(snapshot)


def _shown(fetch: Callable[[ModelRef], object], ref: ModelRef) -> str:
    try:
        return str(fetch(ref))
    except ModelUnreadable as error:
        return repr(error)


def read_in_two_processes(settings: Settings, refs: list[ModelRef]) -> set[str]:
    """Return the results of four callers in each of two processes, started at the same time."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    arguments = (settings, refs, barrier, results)
    processes = [context.Process(target=_read_cold, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    answers = [results.get(timeout=120) for _ in range(8 * len(refs))]
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    return set(answers)


def test_a_cold_model_costs_two_processes_one_flight(hub: HubEmulator, redis_url: str) -> None:
    hub.add(llama_repo("org/name", shards=4))
    hub.options.latency = 0.3
    answers = read_in_two_processes(shared_settings(hub, redis_url), [REF])
    assert len(answers) == 1 and "org/name" in answers.pop()
    assert len(hub.requests) == 4
    descriptions = [request for request in hub.requests if request.path == "/api/models/org/name"]
    assert len(descriptions) == 1


def test_a_process_that_died_blocks_no_longer_than_its_lock(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    client.set(f"{PREFIX}flight-x", "0" * 32, px=300)
    flights = RedisFlights(RedisLink(redis_url), longest_seconds=60)
    assert flights.land("flight-x", lambda: None, lambda: "read") == "read"
    assert not client.exists(f"{PREFIX}flight-x"), "the lock was taken and given back"


def _hold_a_lock(redis_url: str, is_held: Event) -> None:
    """Read for as long as the process lives, as a replica does whose Hub is slow."""

    def read() -> str:
        is_held.set()
        return str(threading.Event().wait())

    RedisFlights(RedisLink(redis_url), longest_seconds=60).land("flight-x", lambda: None, read)


def test_a_process_that_is_killed_while_it_reads_blocks_for_a_second(redis_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    is_held = context.Event()
    process = context.Process(target=_hold_a_lock, args=(redis_url, is_held))
    process.start()
    assert is_held.wait(120)
    process.kill()
    process.join(120)
    left_milliseconds = redis.Redis.from_url(redis_url).pttl(f"{PREFIX}flight-x")
    assert left_milliseconds <= 1000 * redis_link.LOCK_SECONDS <= 1000
    flights = RedisFlights(RedisLink(redis_url), longest_seconds=60)
    assert flights.land("flight-x", lambda: None, lambda: "read") == "read"


def test_who_reads_for_long_keeps_the_lock(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its expiry is put off again and again, and not any more once the lock is another's."""
    monkeypatch.setattr(redis_link, "LOCK_SECONDS", 600.0)
    monkeypatch.setattr(redis_link, "_EXTENSION_SECONDS", 0.01)
    client, key = redis.Redis.from_url(redis_url), f"{PREFIX}flight-x"

    def read() -> str:
        for _ in range(3):
            client.pexpire(key, 300_000)
            while client.pttl(key) <= 300_000:
                time.sleep(0.01)
        client.set(key, "another's", px=300_000)
        time.sleep(0.1)
        assert 0 < client.pttl(key) <= 300_000
        return "read"

    flights = RedisFlights(RedisLink(redis_url), longest_seconds=60)
    assert flights.land("flight-x", lambda: None, read) == "read"
    assert client.get(key) == b"another's"
    assert not [thread for thread in threading.enumerate() if thread.name == "lock"]


def test_a_redis_that_goes_away_while_a_model_is_read(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis_link, "_EXTENSION_SECONDS", 0.01)

    def read() -> str:
        own_redis.stop()
        while "away" not in caplog.text:
            time.sleep(0.01)
        return "read"

    flights = RedisFlights(RedisLink(own_redis.url), longest_seconds=60)
    assert flights.land("flight-x", lambda: None, read) == "read"
    assert len(caplog.records) == 1


def test_what_another_process_has_read_needs_no_place_of_those_who_read(
    hub: HubEmulator, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("org/name", "org/other"):
        hub.add(llama_repo(name))
    settings = shared_settings(hub, redis_url)
    Fetcher(settings, access=open_access(settings))(REF)
    full = CpuLimiter(computing=1, reading=0)
    monkeypatch.setattr(fetcher, "CPU_LIMITER", full)
    fetch = Fetcher(settings, access=open_access(settings))
    with full.computing():
        assert fetch(REF).repo_id == "org/name"
        with pytest.raises(ServerBusy):
            fetch(ModelRef("org/other"))


def test_a_lock_without_end_is_not_waited_for_longer_than_a_flight_takes(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    client.set(f"{PREFIX}flight-x", "0" * 32)
    flights = RedisFlights(RedisLink(redis_url), longest_seconds=0.2)
    assert flights.land("flight-x", lambda: None, lambda: "read") == "read"
    assert client.exists(f"{PREFIX}flight-x"), "another's lock stays"


@pytest.mark.parametrize("value", ["list", "text"])
def test_a_foreign_key_in_the_place_of_a_lock(redis_url: str, value: str) -> None:
    client = redis.Redis.from_url(redis_url)
    if value == "list":
        client.rpush(f"{PREFIX}flight-x", b"1")
    else:
        client.set(f"{PREFIX}flight-x", b"\xff\x00" * 50)
    flights = RedisFlights(RedisLink(redis_url), longest_seconds=0.2)
    assert flights.land("flight-x", lambda: None, lambda: "read") == "read"


@pytest.mark.parametrize(
    "repo", [{"private": True}, {"gated": "manual"}, {}], ids=["private", "gated", "public"]
)
def test_what_a_visitor_reads_is_in_no_redis(
    hub: HubEmulator, redis_url: str, repo: dict[str, object]
) -> None:
    hub.add(llama_repo("org/name", **repo))
    hub.options.valid_tokens = {VISITOR: {"org/name"}}
    settings = shared_settings(hub, redis_url)
    fetch = Fetcher(settings, access=open_access(settings))
    assert fetch.for_visitor(VISITOR)(REF).repo_id == "org/name"
    client = redis.Redis.from_url(redis_url)
    assert list(client.scan_iter()) == []


def test_a_model_made_private_is_forgotten_by_all(hub: HubEmulator, redis_url: str) -> None:
    hub.add(llama_repo("org/name"))
    settings = shared_settings(hub, redis_url)
    Fetcher(settings, access=open_access(settings))(REF)
    client = redis.Redis.from_url(redis_url)
    for key in client.scan_iter(f"{PREFIX}commit-*"):
        entry = json.loads(client.get(key))
        client.set(key, json.dumps({**entry, "checked_at": 0}))
    hub.add(llama_repo("org/name", private=True))
    with pytest.raises(ModelNotFound):
        Fetcher(settings, access=open_access(settings))(REF)
    cache = open_access(settings).cache
    assert cache is not None and cache.last_known(REF) is None
