"""SnapshotCache: snapshots of public repositories that outlive the process.

It has a JSON entry for each commit (`snapshot-…`) and one for each requested name (`commit-…`) with
the commit it resolved to and the time of that. An invalid entry counts as a miss and is removed.
Only public data is stored: every key contains the word "anonymous", and no method takes a token.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from gpusizer.core.loose_values import JsonObject, object_in
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import SNAPSHOT_VERSION, RepoSnapshot

Value = TypeVar("Value")

# Incremented when a change of the readers changes the snapshot of a given commit.
CACHE_VERSION = 4
# A commit never changes. The commit of a branch, and who may read it, expire after this time.
COMMIT_SECONDS = 300.0
# The clocks of machines that share a cache may differ by this much.
_CLOCK_SKEW_SECONDS = 5.0
_SHA = re.compile(r"[0-9a-f]{40}")

# Exceptions raised by reading an entry that is foreign, incomplete or not JSON.
_CORRUPT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class EntryStore(Protocol):
    """Bytes by name in files or in Redis, shared by threads and processes; empty if it fails."""

    def read(self, name: str) -> bytes | None:
        """Return the content of an entry, None if it is missing."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Store an entry, replacing an earlier one."""
        ...

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        ...


class SnapshotCache:
    """Snapshots in an EntryStore. Safe to share between threads."""

    def __init__(
        self, entries: EntryStore, endpoint: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._entries = entries
        self._namespace = f"v{CACHE_VERSION}.{SNAPSHOT_VERSION} anonymous {endpoint}"
        self._clock = clock

    def fresh(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the snapshot if its commit was checked within COMMIT_SECONDS, else None."""
        return self._find(ref, COMMIT_SECONDS)

    def last_known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the snapshot of the commit that the name last resolved to, of whatever age."""
        return self._find(ref, None)

    def store(self, ref: ModelRef, snapshot: RepoSnapshot) -> None:
        """Store a complete snapshot that was read anonymously; skip one without a commit."""
        if snapshot.sha is None:
            return
        snapshot_json = snapshot.to_json()
        self._write("snapshot", self._snapshot_key(ref, snapshot.sha), {"snapshot": snapshot_json})
        resolution: JsonObject = {"commit": snapshot.sha, "checked_at": self._clock()}
        for revision in {ref.revision, snapshot.sha}:
            self._write("commit", self._ref_key(replace(ref, revision=revision)), resolution)

    def forget(self, ref: ModelRef) -> None:
        """Remove the commit of a name, because the model is gone or no longer public."""
        self._entries.remove(_entry_name("commit", self._ref_key(ref)))

    def flight_name(self, ref: ModelRef) -> str:
        """Return a name for reading this model, equal in every process with this cache."""
        return _entry_name("flight", self._ref_key(ref))

    def _find(self, ref: ModelRef, max_age_seconds: float | None) -> RepoSnapshot | None:
        resolution = self._read("commit", self._ref_key(ref), _parse_resolution)
        if resolution is None:
            return None
        commit, checked_at = resolution
        age = self._clock() - checked_at
        # After the clock was set back, entries have a time far in the future: those have expired.
        if max_age_seconds is not None and not -_CLOCK_SKEW_SECONDS <= age <= max_age_seconds:
            return None
        return self._read(
            "snapshot",
            self._snapshot_key(ref, commit),
            lambda entry: RepoSnapshot.from_json(object_in(entry["snapshot"])),
        )

    def _ref_key(self, ref: ModelRef) -> list[str | None]:
        card = [] if ref.reads_card else ["without card"]
        key = [self._namespace, ref.repo_id.casefold(), ref.revision or "main", ref.file, ref.tag]
        return key + card

    def _snapshot_key(self, ref: ModelRef, commit: str) -> list[str | None]:
        return self._ref_key(replace(ref, revision=commit))

    def _read(
        self, kind: str, key: list[str | None], parse: Callable[[JsonObject], Value]
    ) -> Value | None:
        name = _entry_name(kind, key)
        data = self._entries.read(name)
        if data is None:
            return None
        try:
            entry = json.loads(data)
            if entry["key"] != key:
                raise ValueError("another key")
            return parse(entry)
        except _CORRUPT:
            self._entries.remove(name)
            return None

    def _write(self, kind: str, key: list[str | None], value: JsonObject) -> None:
        text = json.dumps({"key": key, **value}, separators=(",", ":"))
        self._entries.write(_entry_name(kind, key), text.encode())


def _entry_name(kind: str, key: list[str | None]) -> str:
    return f"{kind}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:40]}"


def _parse_resolution(entry: JsonObject) -> tuple[str, float]:
    commit, checked_at = str(entry["commit"]), float(str(entry["checked_at"]))
    if not _SHA.fullmatch(commit):
        raise ValueError("no commit")
    return commit, checked_at
