"""DiskCache: snapshots of public repositories that outlive the process.

One JSON file per commit (`snapshot-…`) and one per name that was asked for (`commit-…`),
which says which commit it meant and when; and one per GGUF repository (`tokenizer-…`) with
what its files have in common. Whatever is wrong with a file, it is a miss and
is removed. Only what was read anonymously comes here: the names of files say so, and there
is no way to say anything else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import SNAPSHOT_VERSION, RepoSnapshot
from scrapers.gguf_tokenizer import TokenizerSection

Value = TypeVar("Value")

# Raised when reading changes what a snapshot of the same commit says.
CACHE_VERSION = 3
# A commit stays; what a branch points to, and who may read it, is asked again after this.
COMMIT_SECONDS = 300.0
_SWEEP_EVERY = 16
_SHA = re.compile(r"[0-9a-f]{40}")

# What reading a file that is not ours, not whole or not JSON can raise.
_CORRUPT = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


class DiskCache:
    """Snapshots in a folder, the least recently used removed first.

    Safe for several threads and processes: files appear whole or not at all, and are never
    changed. A folder that cannot be written to is a cache that forgets.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        endpoint: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._space = f"v{CACHE_VERSION}.{SNAPSHOT_VERSION} anonymous {endpoint}"
        self._clock = clock
        self._written = 0
        self._lock = threading.Lock()

    def fresh(self, ref: ModelRef) -> RepoSnapshot | None:
        """The snapshot, if it is sure enough that the Hub would still give it."""
        return self._find(ref, COMMIT_SECONDS)

    def last_known(self, ref: ModelRef) -> RepoSnapshot | None:
        """The snapshot of what the name meant when it was last asked for, however long ago."""
        return self._find(ref, None)

    def store(self, ref: ModelRef, snapshot: RepoSnapshot) -> None:
        """Keep a whole answer that was read anonymously; nothing without a commit."""
        if snapshot.sha is None:
            return
        kept = snapshot.to_json()
        self._write("snapshot", self._snapshot_key(ref, snapshot.sha), {"snapshot": kept})
        meaning = {"commit": snapshot.sha, "checked_at": self._clock()}
        for revision in {ref.revision, snapshot.sha}:
            self._write("commit", self._ref_key(replace(ref, revision=revision)), meaning)
        self._sweep()

    def tokenizer(self, repo_id: str) -> TokenizerSection | None:
        """What GGUF files of a repository have in common, as it was stored last."""
        return self._read("tokenizer", [self._space, repo_id], _tokenizer)

    def store_tokenizer(self, repo_id: str, section: TokenizerSection) -> None:
        """Keep what GGUF files of a repository have in common."""
        self._write("tokenizer", [self._space, repo_id], {"section": section.to_json()})

    def forget(self, ref: ModelRef) -> None:
        """Drop what a name meant: it is gone, or no longer for everybody."""
        self._remove(self._path("commit", self._ref_key(ref)))

    def _find(self, ref: ModelRef, within_seconds: float | None) -> RepoSnapshot | None:
        meaning = self._read("commit", self._ref_key(ref), _meaning)
        if meaning is None:
            return None
        commit, checked_at = meaning
        age = self._clock() - checked_at
        # A clock that was set back makes everything look new: what is from the future is old.
        if within_seconds is not None and not 0 <= age <= within_seconds:
            return None
        return self._read("snapshot", self._snapshot_key(ref, commit), _snapshot)

    def _ref_key(self, ref: ModelRef) -> list[str | None]:
        card = [] if ref.reads_card else ["without card"]
        key = [self._space, ref.repo_id.casefold(), ref.revision or "main", ref.file, ref.tag]
        return key + card

    def _snapshot_key(self, ref: ModelRef, commit: str) -> list[str | None]:
        return self._ref_key(replace(ref, revision=commit))

    def _path(self, kind: str, key: list[str | None]) -> Path:
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:40]
        return self.folder / f"{kind}-{name}.json"

    def _read(
        self, kind: str, key: list[str | None], parse: Callable[[Any], Value]
    ) -> Value | None:
        path = self._path(kind, key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            entry = json.loads(data)
            if entry["key"] != key:
                raise ValueError("another key")
            value = parse(entry)
        except _CORRUPT:
            self._remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the sweep removes what was used longest ago
        return value

    def _write(self, kind: str, key: list[str | None], value: dict[str, Any]) -> None:
        """Write beside, then rename: readers see the whole file or none."""
        text = json.dumps({"key": key, **value}, separators=(",", ":"))
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = self.folder / f"write-{os.urandom(8).hex()}.tmp"
            try:
                with open(beside, "x", encoding="utf-8", opener=_for_us_alone) as file:
                    file.write(text)
                os.replace(beside, self._path(kind, key))
            except OSError:
                self._remove(beside)

    def _sweep(self) -> None:
        """Remove the files used longest ago, now and then, until the rest is small enough."""
        with self._lock:
            self._written += 1
            if self._written % _SWEEP_EVERY != 1:
                return
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            found = [(entry.stat(), entry.path) for entry in entries if _is_ours(entry.name)]
            total = sum(stat.st_size for stat, _ in found)
            for stat, path in sorted(found, key=lambda item: item[0].st_mtime):
                if total <= self.max_bytes:
                    break
                self._remove(Path(path))
                total -= stat.st_size

    @staticmethod
    def _remove(path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_ours(name: str) -> bool:
    return name.startswith(("snapshot-", "commit-", "tokenizer-", "write-"))


def _meaning(entry: Any) -> tuple[str, float]:
    commit, checked_at = entry["commit"], float(entry["checked_at"])
    if not _SHA.fullmatch(commit):
        raise ValueError("no commit")
    return commit, checked_at


def _tokenizer(entry: Any) -> TokenizerSection:
    return TokenizerSection.from_json(entry["section"])


def _snapshot(entry: Any) -> RepoSnapshot:
    return RepoSnapshot.from_json(entry["snapshot"])
