"""RepoFiles: the files from which a snapshot is built, of the Hub or of a folder on disk."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.loose_values import JsonValue
from gpusizer.hub.published_results import PublishedResult
from scrapers.client.hub_api import RepoInfo
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.gguf_header import GgufHeader, read_header
from scrapers.formats.gguf_pieces import joined_source
from scrapers.formats.json_files import parse_object, values_bytes
from scrapers.formats.shard_index import ShardIndex, parse_index
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits
from scrapers.repository.header_turns import Header

Value = TypeVar("Value")


class RepoFiles(ABC):
    """The files of one model, each read at most once.

    Paths are relative to the root of the repository. The methods that read raise a ModelUnreadable:
    RepoFileNotFound, MalformedRepo, LimitsExceeded, UnsupportedDtype and the errors of the Hub.
    """

    # Methods without a body suit a folder without a network: every file may be read, and is read
    # when its content is requested.
    def __init__(self, budget: ReadBudget, repo_id: str, revision: str | None) -> None:
        self.budget = budget
        self.repo_id = repo_id
        self.revision = revision
        self._pieces: dict[str, tuple[RepoFile, ...]] = {}
        self._index_turn = threading.Lock()

    @property
    def limits(self) -> Limits:
        """The budgets in force."""
        return self.budget.limits

    @property
    def may_read_files(self) -> bool:
        """Whether files may be requested; those of a gated repository need a token."""
        return True

    @property
    def may_ask_headers(self) -> bool:
        """Whether `headers` may be called, for all shards' headers in one response."""
        return False

    @abstractmethod
    def info(self) -> RepoInfo:
        """Return the description of the repository."""

    @abstractmethod
    def tree(self) -> Sequence[RepoFile]:
        """Return the file list."""

    @property
    def listed(self) -> Mapping[str, RepoFile]:
        """The file list by paths."""
        return {file.path: file for file in self.tree()}

    def confirm_tree(self) -> bool:
        """Request the file list again if it may be cut; return whether it has further files."""
        return False

    def prefetch(self, method: str, path: str = "") -> None:
        """Start a read in the background; `method` is the name of one of the methods below."""
        return

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        """Set the bytes of the first read of each of these files."""
        return

    def expect_pieces(self, pieces: Iterable[RepoFile]) -> None:
        """Let `gguf` read these raw pieces as one file, under the path of the first piece."""
        ordered = tuple(pieces)
        self._pieces[ordered[0].path] = ordered

    def json(self, path: str) -> dict[str, JsonValue]:
        """Read a configuration."""
        return self._result(self._read_json, path)

    def index(self, path: str) -> ShardIndex:
        """Read a shard index, which may be larger than a configuration."""
        return self._result(self._read_index, path)

    def text(self, path: str) -> bytes:
        """Read an optional text, such as the model card."""
        return self._result(self._read_text, path)

    def header(self, path: str) -> Header:
        """Read the tensors of a safetensors file."""
        return self._result(self._read_header, path)

    def gguf(self, path: str) -> GgufHeader:
        """Read the metadata and tensors of a GGUF file, or of its pieces."""
        return self._result(self._read_gguf, path)

    def evaluations(self) -> tuple[PublishedResult, ...]:
        """Return the results of the files `.eval_results/*.yaml`, which the API has parsed."""
        return ()

    def headers(self, index: str) -> bytes:
        """Return the API's response with the headers of all shards of an index, unparsed."""
        return b""

    def suspend_headers_route(self, refusal: ModelUnreadable) -> None:
        """Request no headers of all shards for a while after this refusal."""
        return

    def _result(self, read: Callable[[str], Value], path: str) -> Value:
        return read(path)

    def _read_json(self, path: str) -> dict[str, JsonValue]:
        body = self._whole(path, "config_bytes")
        self.budget.count("config_memory_bytes", values_bytes(body))
        return parse_object(body, self.repo_id, path, self.limits.json_depth)

    def _read_index(self, path: str) -> ShardIndex:
        body = self._whole(path, "index_bytes")
        with self._index_turn:  # only the values of one are in memory
            return parse_index(body, self.limits, self.repo_id, path)

    def _read_text(self, path: str) -> bytes:
        return self._whole(path, "card_bytes")

    def _read_gguf(self, path: str) -> GgufHeader:
        files = self._pieces.get(path, (RepoFile(path, None),))
        parts = [(self._source(file.path, "gguf_header_bytes"), file.size_bytes) for file in files]
        return read_header(joined_source(parts), self.limits, self.repo_id, path)

    @abstractmethod
    def _read_header(self, path: str) -> Header: ...

    @abstractmethod
    def _whole(self, path: str, limit: str) -> bytes:
        """Return the content of a file; `limit` is its bound in Limits."""

    @abstractmethod
    def _source(self, path: str, limit: str) -> Source:
        """Return a source of a file's byte ranges; `limit` bounds a response."""
