"""RepoFiles: what a snapshot is built from, be it a repository of the Hub or a folder on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from scrapers.gguf_header import GgufHeader
from scrapers.header_reading import Header
from scrapers.hub_api import RepoInfo
from scrapers.limits import Limits
from scrapers.read_budget import ReadBudget
from scrapers.repo_reader import AllHeaders
from scrapers.shard_index import ShardIndex
from scrapers.weight_sets import RepoFile


class RepoFiles(Protocol):
    """The files of one model, each read at most once.

    Paths are relative to the root of the repository. The methods that read raise a
    ModelUnreadable: RepoFileNotFound, MalformedRepo, LimitsExceeded, UnsupportedDtype and, of
    the Hub, its refusals.
    """

    repo_id: str
    revision: str | None
    budget: ReadBudget

    @property
    def limits(self) -> Limits:
        """The budgets in force."""

    @property
    def may_read_files(self) -> bool:
        """Whether files may be read at all; a gate opens to no anonymous request."""

    @property
    def may_ask_headers(self) -> bool:
        """Whether one answer may hold the headers of all shards."""

    def info(self) -> RepoInfo:
        """The description of the repository."""

    def tree(self) -> list[RepoFile]:
        """The file list."""

    def prefetch(self, what: str, path: str = "") -> None:
        """Start a read in the background; `what` names one of the methods below."""

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        """Read so many bytes at first of each of these files."""

    def expect_pieces(self, pieces: Iterable[RepoFile]) -> None:
        """Read these raw pieces as one GGUF file, by the path of the first."""

    def json(self, path: str) -> dict[str, Any]:
        """A configuration."""

    def index(self, path: str) -> ShardIndex:
        """A shard index, which may be larger than a configuration."""

    def text(self, path: str) -> bytes:
        """A text that is nice to have, such as the model card."""

    def header(self, path: str) -> Header:
        """The tensors of a safetensors file."""

    def gguf(self, path: str) -> GgufHeader:
        """The metadata and tensors of a GGUF file."""

    def headers(self, index: str) -> AllHeaders:
        """The headers of every shard of an index, where `may_ask_headers`."""

    def close_headers(self, seconds: float) -> None:
        """Do not ask for all headers in one answer for so long."""
