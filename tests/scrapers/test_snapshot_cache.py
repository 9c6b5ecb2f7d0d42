"""SnapshotCache, on disk and in Redis: whole snapshots, names that expire, bad entries."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest
import redis

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.disk_entries import DiskEntries
from scrapers.cache.redis_link import MAX_ENTRY_BYTES, PREFIX, RedisEntries, RedisLink
from scrapers.cache.snapshot_cache import COMMIT_SECONDS, EntryStore, SnapshotCache
from tests.builders import group
from tests.builders import snapshot as built
from tests.clock import Clock

ENDPOINT = "https://huggingface.co"
REF = ModelRef("org/name")
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def clock() -> Clock:
    return Clock()


Entries = Callable[[], EntryStore]  #


@pytest.fixture(params=["disk", "redis"])
def entries(request: pytest.FixtureRequest, tmp_path: Path) -> Entries:
    if request.param == "disk":
        return lambda: DiskEntries(tmp_path / "cache", 10**6)
    url = request.getfixturevalue("redis_url")
    return lambda: RedisEntries(RedisLink(url))


@pytest.fixture
def cache(entries: Entries, clock: Clock) -> SnapshotCache:
    return SnapshotCache(entries(), ENDPOINT, clock)


class Raw(Protocol):
    """The store as somebody sees it who writes into it past the cache."""

    def names(self, kind: str = "") -> list[str]: ...
    def read(self, name: str) -> bytes: ...
    def write(self, name: str, data: bytes) -> None: ...


class _Files:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, kind: str = "") -> list[str]:
        return [path.name for path in self._folder.glob(f"{kind}*")]

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        (self._folder / name).write_bytes(data)


class _Keys:
    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)

    def names(self, kind: str = "") -> list[str]:
        return [key.decode() for key in self._client.scan_iter(f"{PREFIX}{kind}*")]

    def read(self, name: str) -> bytes:
        return bytes(self._client.get(name))

    def write(self, name: str, data: bytes) -> None:
        self._client.set(name, data)


@pytest.fixture
def raw(request: pytest.FixtureRequest, entries: Entries, tmp_path: Path) -> Raw:
    if isinstance(entries(), DiskEntries):
        return _Files(tmp_path / "cache")
    return _Keys(request.getfixturevalue("redis_url"))


@pytest.fixture
def answer() -> RepoSnapshot:
    return built(
        [group("t.{}.w", (2, 3), range(4))], {"a": 1}, repo_id="org/name", sha=SHA, source="hub"
    )


def test_round_trip(cache: SnapshotCache, answer: RepoSnapshot, entries: Entries) -> None:
    assert cache.fresh(REF) is None
    cache.store(REF, answer)
    reopened = SnapshotCache(entries(), ENDPOINT, Clock())
    assert reopened.fresh(REF) == reopened.last_known(REF) == answer
    assert reopened.fresh(ModelRef("ORG/Name", "main")) == answer
    assert reopened.fresh(replace(REF, revision=SHA)) == answer


@pytest.mark.parametrize(
    "other_ref",
    [
        ModelRef("org/other"),
        ModelRef("org/name", "v1"),
        ModelRef("org/name", file="a.gguf"),
        ModelRef("org/name", tag="Q4_K_M"),
    ],
)
def test_another_ref_and_another_endpoint_are_misses(
    cache: SnapshotCache, answer: RepoSnapshot, entries: Entries, other_ref: ModelRef
) -> None:
    cache.store(REF, answer)
    assert cache.last_known(other_ref) is None
    assert SnapshotCache(entries(), "https://mirror.example").last_known(REF) is None


def test_the_commit_of_a_branch_expires(
    cache: SnapshotCache, clock: Clock, answer: RepoSnapshot
) -> None:
    cache.store(REF, answer)
    clock.now += COMMIT_SECONDS - 1
    assert cache.fresh(REF) == answer
    clock.now += 2
    assert cache.fresh(REF) is None
    assert cache.last_known(REF) == answer
    clock.now -= 10**6  # the clock was set back: the entry lies in the future and counts as expired
    assert cache.fresh(REF) is None


def test_clocks_of_two_machines_differ_a_little(
    cache: SnapshotCache, clock: Clock, answer: RepoSnapshot
) -> None:
    cache.store(REF, answer)
    clock.now -= 2
    assert cache.fresh(REF) == answer


def test_a_snapshot_without_a_commit_is_not_stored(
    cache: SnapshotCache, answer: RepoSnapshot, raw: Raw
) -> None:
    cache.store(REF, replace(answer, sha=None))
    assert raw.names() == []


def test_a_forgotten_name_is_a_miss(cache: SnapshotCache, answer: RepoSnapshot) -> None:
    cache.store(REF, answer)
    cache.forget(REF)
    cache.forget(REF)
    assert cache.last_known(REF) is None


CORRUPTIONS = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b"\xff\xfe",
    b"[" * 100_000,
    b"{}",
    b'{"key": null}',
    b'{"key":[1]}',
]


@pytest.mark.parametrize("data", CORRUPTIONS)
@pytest.mark.parametrize("kind", ["snapshot", "commit"])
def test_a_corrupt_entry_is_a_miss_and_removed(
    cache: SnapshotCache, answer: RepoSnapshot, raw: Raw, kind: str, data: bytes
) -> None:
    cache.store(REF, answer)
    for name in raw.names(kind):
        raw.write(name, data)
    assert cache.last_known(REF) is None
    # An empty value of Redis is no value: there is nothing to remove.
    assert len(raw.names(kind)) < 1 + (kind == "commit") or data == b""
    cache.store(REF, answer)
    assert cache.last_known(REF) == answer


@pytest.mark.parametrize("field", ["snapshot_version", "components", "sha"])
def test_entry_of_another_version_is_a_miss(
    cache: SnapshotCache, answer: RepoSnapshot, raw: Raw, field: str
) -> None:
    cache.store(REF, answer)
    (name,) = raw.names("snapshot")
    entry = json.loads(raw.read(name))
    del entry["snapshot"][field]
    raw.write(name, json.dumps(entry).encode())
    assert cache.last_known(REF) is None
    assert raw.names("snapshot") == []


def test_the_least_recently_used_files_are_removed(tmp_path: Path, answer: RepoSnapshot) -> None:
    small = SnapshotCache(DiskEntries(tmp_path, 20_000), ENDPOINT)
    small.store(REF, answer)
    for number in range(64):
        assert small.last_known(REF) == answer
        small.store(ModelRef(f"org/n{number}"), replace(answer, repo_id=f"org/n{number}"))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    entry_bytes = max(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 20_000 + 16 * 3 * entry_bytes
    assert small.last_known(ModelRef("org/n0")) is None
    assert small.last_known(REF) == answer


def test_a_folder_that_cannot_be_created_stores_nothing(
    tmp_path: Path, answer: RepoSnapshot
) -> None:
    (tmp_path / "file").write_text("")
    cache = SnapshotCache(DiskEntries(tmp_path / "file" / "cache", 10**6), ENDPOINT)
    cache.store(REF, answer)
    assert cache.last_known(REF) is None
    cache.forget(REF)


def _hammer(folder: Path, answer: RepoSnapshot, wrong_answers: list[int]) -> None:
    cache = SnapshotCache(DiskEntries(folder, 4000), ENDPOINT)
    for number in range(60):
        ref = ModelRef(f"org/n{number % 5}")
        cache.store(ref, answer)
        if cache.last_known(ref) not in (None, answer):
            wrong_answers.append(number)
    if wrong_answers:
        raise SystemExit(1)


def test_several_processes_share_a_folder(tmp_path: Path, answer: RepoSnapshot) -> None:
    """Processes read whole entries while others write and sweep."""
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_hammer, args=(tmp_path, answer, []), daemon=True) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("kind", ["snapshot", "commit"])
def test_a_key_of_another_type_is_a_miss(
    redis_url: str, clock: Clock, answer: RepoSnapshot, kind: str
) -> None:
    cache = SnapshotCache(RedisEntries(RedisLink(redis_url)), ENDPOINT, clock)
    cache.store(REF, answer)
    client = redis.Redis.from_url(redis_url)
    for key in client.scan_iter(f"{PREFIX}{kind}*"):
        client.delete(key)
        client.rpush(key, b"x")
    assert cache.last_known(REF) is None
    cache.store(REF, answer)
    assert cache.last_known(REF) == answer


def test_a_value_without_end_is_a_miss(redis_url: str) -> None:
    client, entries = redis.Redis.from_url(redis_url), RedisEntries(RedisLink(redis_url))
    client.setrange(f"{PREFIX}long", MAX_ENTRY_BYTES, b"x")
    assert entries.read("long") is None
    entries.write("longer", b"x" * (MAX_ENTRY_BYTES + 1))
    assert not client.exists(f"{PREFIX}longer")


def test_every_entry_of_redis_expires(redis_url: str, clock: Clock, answer: RepoSnapshot) -> None:
    SnapshotCache(RedisEntries(RedisLink(redis_url)), ENDPOINT, clock).store(REF, answer)
    client = redis.Redis.from_url(redis_url)
    assert [client.ttl(key) > 0 for key in client.scan_iter()] == [True] * 3
