"""FakeFile: a file of an emulated repository, whose bytes are made on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class FakeFile:
    """A file with given first bytes (`head`) and size; the bytes after the head are zeros."""

    # the first bytes, or a function that makes them (called on every read)
    head: bytes | Callable[[], bytes]
    size: int  # size of the whole file
    lfs: bool = False  # whether the file is in LFS, so served by the CDN

    def head_bytes(self) -> bytes:
        """Return the first bytes."""
        return self.head if isinstance(self.head, bytes) else self.head()

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start` to `stop` (not included), clipped to the file."""
        stop = min(stop, self.size)
        piece = self.head_bytes()[start:stop]
        return piece + bytes(max(stop - start, 0) - len(piece))

    @cached_property
    def sha256(self) -> str:
        """The LFS object name: exact for a literal file, else a hash of the head and the size."""
        head = self.head_bytes()
        # Hashing gigabytes of zeros would take seconds.
        tail = b"" if len(head) == self.size else f"+zeros to {self.size}".encode()
        return hashlib.sha256(head + tail).hexdigest()

    @property
    def lfs_pointer(self) -> bytes:
        """The text that git stores in place of an LFS file (git-lfs spec v1)."""
        spec = "version https://git-lfs.github.com/spec/v1"
        return f"{spec}\noid sha256:{self.sha256}\nsize {self.size}\n".encode()

    @cached_property
    def oid(self) -> str:
        """Git blob name: of the file, or of its pointer when it is in LFS."""
        blob = self.lfs_pointer if self.lfs else self.read(0, self.size)
        return hashlib.sha1(b"blob %d\0" % len(blob) + blob, usedforsecurity=False).hexdigest()

    @property
    def etag(self) -> str:
        """The value of the Hub's X-Linked-Etag: SHA-256 for LFS, git blob name otherwise."""
        return self.sha256 if self.lfs else self.oid

    @property
    def xet_hash(self) -> str:
        """The name of the object on the CDN, which differs from the SHA-256 as on the Hub."""
        return hashlib.sha256(f"xet {self.sha256}".encode()).hexdigest()


def literal_file(content: bytes | str | Mapping[str, Any], *, lfs: bool = False) -> FakeFile:
    """Return a file with exactly this content; a mapping is written as indented JSON."""
    if isinstance(content, Mapping):
        content = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    data = content.encode() if isinstance(content, str) else content
    return FakeFile(data, len(data), lfs)


def sparse_file(size: int, head: bytes = b"", *, lfs: bool = True) -> FakeFile:
    """Make a file of any size that stores only its first bytes."""
    return FakeFile(head, size, lfs)
