"""DiskCache returns whole snapshots, expires names, bounds its size, and survives bad files."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.disk_cache import COMMIT_SECONDS, DiskCache
from tests.builders import group
from tests.builders import snapshot as built

ENDPOINT = "https://huggingface.co"
REF = ModelRef("org/name")
SHA = "0123456789abcdef0123456789abcdef01234567"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> DiskCache:
    return DiskCache(tmp_path / "cache", 10**6, ENDPOINT, clock)


@pytest.fixture
def answer() -> RepoSnapshot:
    return built(
        [group("t.{}.w", (2, 3), range(4))], {"a": 1}, repo_id="org/name", sha=SHA, source="hub"
    )


def test_round_trip(cache: DiskCache, answer: RepoSnapshot) -> None:
    assert cache.fresh(REF) is None
    cache.store(REF, answer)
    reopened = DiskCache(cache.folder, 10**6, ENDPOINT, Clock())
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
def test_another_ref_is_a_miss(cache: DiskCache, answer: RepoSnapshot, other_ref: ModelRef) -> None:
    cache.store(REF, answer)
    assert cache.last_known(other_ref) is None


def test_another_endpoint_is_a_miss(cache: DiskCache, answer: RepoSnapshot) -> None:
    cache.store(REF, answer)
    assert DiskCache(cache.folder, 10**6, "https://mirror.example").last_known(REF) is None


def test_the_commit_of_a_branch_expires(
    cache: DiskCache, clock: Clock, answer: RepoSnapshot
) -> None:
    cache.store(REF, answer)
    clock.now += COMMIT_SECONDS - 1
    assert cache.fresh(REF) == answer
    clock.now += 2
    assert cache.fresh(REF) is None
    assert cache.last_known(REF) == answer
    clock.now -= 10**6  # the clock was set back: the entry lies in the future and counts as expired
    assert cache.fresh(REF) is None


def test_a_snapshot_without_a_commit_is_not_stored(cache: DiskCache, answer: RepoSnapshot) -> None:
    cache.store(REF, replace(answer, sha=None))
    assert not cache.folder.exists()


def test_a_forgotten_name_is_a_miss(cache: DiskCache, answer: RepoSnapshot) -> None:
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
    cache: DiskCache, answer: RepoSnapshot, kind: str, data: bytes
) -> None:
    cache.store(REF, answer)
    for path in cache.folder.glob(f"{kind}-*"):
        path.write_bytes(data)
    assert cache.last_known(REF) is None
    assert len(list(cache.folder.glob(f"{kind}-*"))) < 1 + (kind == "commit")
    cache.store(REF, answer)
    assert cache.last_known(REF) == answer


@pytest.mark.parametrize("field", ["snapshot_version", "components", "sha"])
def test_entry_of_another_version_is_a_miss(
    cache: DiskCache, answer: RepoSnapshot, field: str
) -> None:
    cache.store(REF, answer)
    (path,) = cache.folder.glob("snapshot-*")
    entry = json.loads(path.read_text())
    del entry["snapshot"][field]
    path.write_text(json.dumps(entry))
    assert cache.last_known(REF) is None
    assert not path.exists()


def test_the_least_recently_used_entries_are_removed(
    cache: DiskCache, answer: RepoSnapshot
) -> None:
    small = DiskCache(cache.folder, 20_000, ENDPOINT)
    small.store(REF, answer)
    for number in range(64):
        assert small.last_known(REF) == answer
        small.store(ModelRef(f"org/n{number}"), replace(answer, repo_id=f"org/n{number}"))
    size = sum(path.stat().st_size for path in small.folder.iterdir())
    entry_bytes = max(path.stat().st_size for path in small.folder.iterdir())
    assert size < 20_000 + 16 * 3 * entry_bytes
    assert small.last_known(ModelRef("org/n0")) is None
    assert small.last_known(REF) == answer


def test_a_folder_that_cannot_be_created_stores_nothing(
    tmp_path: Path, answer: RepoSnapshot
) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "cache", 10**6, ENDPOINT)
    cache.store(REF, answer)
    assert cache.last_known(REF) is None
    cache.forget(REF)


def _hammer(folder: Path, answer: RepoSnapshot, wrong_answers: list[int]) -> None:
    cache = DiskCache(folder, 4000, ENDPOINT)
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
