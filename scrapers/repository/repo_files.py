"""RepoFiles: the files from which a snapshot is built, of the Hub or of a folder on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpusizer.core.errors import ModelUnreadable
from scrapers.client.hub_api import RepoInfo
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.gguf_header import GgufHeader
from scrapers.formats.shard_index import ShardIndex
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits
from scrapers.repository.header_reading import Header


@dataclass(frozen=True, slots=True)
class AllHeaders:
    """The API's response with the headers of all shards, unparsed, or the error of the request."""

    body: bytes = b""
    refusal: ModelUnreadable | None = None


class RepoFiles(ABC):
    """The files of one model, each read at most once.

    Paths are relative to the root of the repository. The methods that read raise a
    ModelUnreadable: RepoFileNotFound, MalformedRepo, LimitsExceeded, UnsupportedDtype and the
    errors of the Hub. What has no body of its own below does nothing where there is no network:
    every file may be read, and is when its content is requested.
    """

    def __init__(self, budget: ReadBudget, repo_id: str, revision: str | None) -> None:
        self.budget = budget
        self.repo_id = repo_id
        self.revision = revision
        self._pieces: dict[str, tuple[RepoFile, ...]] = {}

    @property
    def limits(self) -> Limits:
        """The budgets in force."""
        return self.budget.limits

    @property
    def may_read_files(self) -> bool:
        """Whether files may be requested: those of a gated repository need a token."""
        return True

    @property
    def may_ask_headers(self) -> bool:
        """Whether `headers` may be called: whether one response can have all shards' headers."""
        return False

    @abstractmethod
    def info(self) -> RepoInfo:
        """The description of the repository."""

    @abstractmethod
    def tree(self) -> list[RepoFile]:
        """The file list."""

    def confirm_tree(self) -> bool:
        """Ask for the file list anew where it may be cut; whether it has further files."""
        return False

    def prefetch(self, method: str, path: str = "") -> None:
        """Start a read in the background; `method` is the name of one of the methods below."""
        return

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        """Let the first read of each of these files have `header_bytes`."""
        return

    def expect_pieces(self, pieces: Iterable[RepoFile]) -> None:
        """Let `gguf` read these raw pieces as one file, under the path of the first piece."""
        ordered = tuple(pieces)
        self._pieces[ordered[0].path] = ordered

    @abstractmethod
    def json(self, path: str) -> dict[str, Any]:
        """Read a configuration."""

    @abstractmethod
    def index(self, path: str) -> ShardIndex:
        """Read a shard index, which may be larger than a configuration."""

    @abstractmethod
    def text(self, path: str) -> bytes:
        """A text that is nice to have, such as the model card."""

    @abstractmethod
    def header(self, path: str) -> Header:
        """Read the tensors of a safetensors file."""

    @abstractmethod
    def gguf(self, path: str) -> GgufHeader:
        """Read the metadata and tensors of a GGUF file."""

    def headers(self, index: str) -> AllHeaders:
        """Request the headers of all shards of an index."""
        return AllHeaders()

    def suspend_headers_route(self, refusal: ModelUnreadable) -> None:
        """Ask for no headers of all shards for a while after this refusal."""
        return
