"""DiskEntries: the entries of the snapshot cache as files of a folder."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

# Writes between two sweeps, which list the whole folder; a snapshot takes two or three.
_SWEEP_EVERY = 48
_BEGINNINGS = ("snapshot-", "commit-", "tokenizer-", "write-")
_SUFFIX = ".json"


class DiskEntries:
    """Files in a folder; the least recently used are removed first.

    Safe for several threads and processes. If the folder is not writable, nothing is stored and no
    error is raised.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._write_count = 0
        self._lock = threading.Lock()

    def read(self, name: str) -> bytes | None:
        """Return the content of an entry, None if it is missing; it counts as used now."""
        path = self._path(name)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the sweep removes what was used longest ago
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write an entry."""
        # A complete file is renamed into place and never changed: readers see no partial file.
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary_path = self.folder / f"write-{os.urandom(8).hex()}.tmp"
            try:
                with open(temporary_path, "xb", opener=_open_private) as file:
                    file.write(data)
                os.replace(temporary_path, self._path(name))
            except OSError:
                _remove(temporary_path)
        self._sweep()

    def remove(self, name: str) -> None:
        """Remove an entry, if it is there."""
        _remove(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    def _sweep(self) -> None:
        # Remove the least recently used files until `max_bytes` hold the others.
        with self._lock:
            self._write_count += 1
            if self._write_count % _SWEEP_EVERY != 1:
                return
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            own = (entry for entry in entries if entry.name.startswith(_BEGINNINGS))
            files = [(entry.stat(), entry.path) for entry in own]
            total = sum(stat.st_size for stat, _ in files)
            for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
                if total <= self.max_bytes:
                    break
                _remove(Path(path))
                total -= stat.st_size


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
