"""DiskCache: snapshots of public repositories that outlive the process.

The folder holds a JSON file for each commit (`snapshot-…`), a file for each requested name
(`commit-…`) with the commit it resolved to and the time of that, and a file for each GGUF
repository (`tokenizer-…`) with the tokenizer lists that its quantizations share. An invalid
file counts as a miss and is removed. Only anonymous reads are stored: every key contains the
word "anonymous", and no method takes a token.
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

# Incremented when a change of the readers changes the snapshot of a given commit.
CACHE_VERSION = 3
# A commit never changes. The commit of a branch, and who may read it, expire after this time.
COMMIT_SECONDS = 300.0
_SWEEP_EVERY = 16
_SHA = re.compile(r"[0-9a-f]{40}")

# Exceptions raised by reading a file that is foreign, incomplete or not JSON.
_CORRUPT = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


class DiskCache:
    """Snapshots in a folder, the least recently used removed first.

    Safe for several threads and processes: a file is renamed into place when it is complete, and
    never changed afterwards. If the folder cannot be written to, nothing is stored and no error
    is raised.
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
        self._namespace = f"v{CACHE_VERSION}.{SNAPSHOT_VERSION} anonymous {endpoint}"
        self._clock = clock
        self._write_count = 0
        self._lock = threading.Lock()

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
        resolution = {"commit": snapshot.sha, "checked_at": self._clock()}
        for revision in {ref.revision, snapshot.sha}:
            self._write("commit", self._ref_key(replace(ref, revision=revision)), resolution)
        self._sweep()

    def tokenizer(self, repo_id: str) -> TokenizerSection | None:
        """Return the stored tokenizer lists of a GGUF repository, None if there are none."""
        return self._read("tokenizer", [self._namespace, repo_id], _parse_tokenizer)

    def store_tokenizer(self, repo_id: str, section: TokenizerSection) -> None:
        """Store the tokenizer lists that the GGUF files of a repository share."""
        self._write("tokenizer", [self._namespace, repo_id], {"section": section.to_json()})

    def forget(self, ref: ModelRef) -> None:
        """Remove the commit of a name, because the model is gone or no longer public."""
        self._remove(self._path("commit", self._ref_key(ref)))

    def _find(self, ref: ModelRef, max_age_seconds: float | None) -> RepoSnapshot | None:
        resolution = self._read("commit", self._ref_key(ref), _parse_resolution)
        if resolution is None:
            return None
        commit, checked_at = resolution
        age = self._clock() - checked_at
        # After the clock was set back, entries have a time in the future: those have expired.
        if max_age_seconds is not None and not 0 <= age <= max_age_seconds:
            return None
        return self._read("snapshot", self._snapshot_key(ref, commit), _parse_snapshot)

    def _ref_key(self, ref: ModelRef) -> list[str | None]:
        card = [] if ref.reads_card else ["without card"]
        key = [self._namespace, ref.repo_id.casefold(), ref.revision or "main", ref.file, ref.tag]
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
        """Write to a temporary file, then rename it: readers never see a part of a file."""
        text = json.dumps({"key": key, **value}, separators=(",", ":"))
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary_path = self.folder / f"write-{os.urandom(8).hex()}.tmp"
            try:
                with open(temporary_path, "x", encoding="utf-8", opener=_open_private) as file:
                    file.write(text)
                os.replace(temporary_path, self._path(kind, key))
            except OSError:
                self._remove(temporary_path)

    def _sweep(self) -> None:
        """Remove the least recently used files until `max_bytes` hold the others.

        Only every sixteenth write does this, because it lists the whole folder.
        """
        with self._lock:
            self._write_count += 1
            if self._write_count % _SWEEP_EVERY != 1:
                return
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            files = [(entry.stat(), entry.path) for entry in entries if _is_cache_file(entry.name)]
            total = sum(stat.st_size for stat, _ in files)
            for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
                if total <= self.max_bytes:
                    break
                self._remove(Path(path))
                total -= stat.st_size

    @staticmethod
    def _remove(path: Path) -> None:
        with contextlib.suppress(OSError):
            path.unlink()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_cache_file(name: str) -> bool:
    return name.startswith(("snapshot-", "commit-", "tokenizer-", "write-"))


def _parse_resolution(entry: Any) -> tuple[str, float]:
    commit, checked_at = entry["commit"], float(entry["checked_at"])
    if not _SHA.fullmatch(commit):
        raise ValueError("no commit")
    return commit, checked_at


def _parse_tokenizer(entry: Any) -> TokenizerSection:
    return TokenizerSection.from_json(entry["section"])


def _parse_snapshot(entry: Any) -> RepoSnapshot:
    return RepoSnapshot.from_json(entry["snapshot"])
