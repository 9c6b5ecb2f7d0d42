"""RepoFiles: the files from which a snapshot is built, of the Hub or of a folder on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from gpusizer.core.errors import ModelUnreadable
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
    ModelUnreadable: RepoFileNotFound, MalformedRepo, LimitsExceeded, UnsupportedDtype and the
    errors of the Hub.
    """

    repo_id: str
    revision: str | None
    budget: ReadBudget

    @property
    def limits(self) -> Limits:
        """The budgets in force."""

    @property
    def may_read_files(self) -> bool:
        """Whether files may be requested: those of a gated repository need a token."""

    @property
    def may_ask_headers(self) -> bool:
        """Whether `headers` may be called: whether one response can have all shards' headers."""

    def info(self) -> RepoInfo:
        """The description of the repository."""

    def tree(self) -> list[RepoFile]:
        """The file list."""

    def confirm_tree(self) -> bool:
        """Ask for the file list anew where it may be cut; whether it has further files."""

    def prefetch(self, method: str, path: str = "") -> None:
        """Start a read in the background; `method` is the name of one of the methods below."""

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        """Let the first read of each of these files have `header_bytes`."""

    def expect_pieces(self, pieces: Iterable[RepoFile]) -> None:
        """Let `gguf` read these raw pieces as one file, under the path of the first piece."""

    def json(self, path: str) -> dict[str, Any]:
        """Read a configuration."""

    def index(self, path: str) -> ShardIndex:
        """Read a shard index, which may be larger than a configuration."""

    def text(self, path: str) -> bytes:
        """A text that is nice to have, such as the model card."""

    def header(self, path: str) -> Header:
        """Read the tensors of a safetensors file."""

    def gguf(self, path: str) -> GgufHeader:
        """Read the metadata and tensors of a GGUF file."""

    def headers(self, index: str) -> AllHeaders:
        """Request the headers of all shards of an index."""

    def suspend_headers_route(self, refusal: ModelUnreadable) -> None:
        """Stop requests for all headers in one response for a while after this refusal."""
