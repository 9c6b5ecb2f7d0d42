"""RepoReader: the files of one repository, read in parallel and each at most once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gpusizer.errors import HubUnreachable, LimitsExceeded, ModelUnreadable
from scrapers.header_reading import ArrivedHeader, Header, read_header
from scrapers.http import HubAnswer, HubSession, Wanted
from scrapers.hub_api import (
    RepoInfo,
    cached_file_url,
    file_url,
    headers_url,
    info_url,
    is_blob,
    next_cursor,
    parse_info,
    parse_tree,
    tree_url,
)
from scrapers.json_files import load_json, parse_object
from scrapers.limits import Limits
from scrapers.reading import Reading
from scrapers.refusals import Asked, may_pass
from scrapers.tokens import ANONYMOUS, Tokens
from scrapers.weight_sets import RepoFile

if TYPE_CHECKING:
    from scrapers.gguf_header import GgufHeader

DEFAULT_BRANCH = "main"
MIN_FIRST_READ = 4096
# How long a shortcut that was refused is not tried again.
CLOSED_SECONDS = 600.0

Value = TypeVar("Value")
Read = tuple[Value, str | None]
"""What was read, and the commit it was read at where the answer said it."""


@dataclass(frozen=True, slots=True)
class AllHeaders:
    """The API's answer with every shard's header, unparsed, or why there is none."""

    body: bytes = b""
    refusal: ModelUnreadable | None = None


class RepoReader:
    """Starts reads and hands out their results; what was started twice is read once.

    `prefetch` starts a read whose result may never be asked for, and whose failure then
    does not matter. Use as a context manager: leaving it abandons what has not started.
    """

    def __init__(
        self,
        session: HubSession,
        reading: Reading,
        repo_id: str,
        revision: str | None,
        tokens: Tokens = ANONYMOUS,
    ) -> None:
        self.session = session
        self.reading = reading
        self.repo_id = repo_id
        self.revision = revision
        self._tokens = tokens
        self._token = tokens.visitor
        self._info: RepoInfo | None = None
        self._commit: str | None = None
        self._small_files: dict[str, RepoFile] = {}
        self._first_reads: dict[str, int] = {}
        self._pieces: dict[str, tuple[RepoFile, ...]] = {}
        self._early: set[tuple[str, str]] = set()
        self._futures: dict[tuple[str, str], Future[Read[Any]]] = {}
        self._pool = ThreadPoolExecutor(self.limits.parallel_reads, "hub-read")

    @property
    def limits(self) -> Limits:
        """The budgets in force."""
        return self.reading.limits

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.reading.abandon()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def prefetch(self, what: str, path: str = "") -> None:
        """Start a read in the background; `what` names one of the readers below."""
        key = (what, path)
        if key not in self._futures:
            self._futures[key] = self._pool.submit(_READERS[what], self, path)

    def info(self) -> RepoInfo:
        """The API's description; what is read later is read at the commit it names."""
        if self._info is None:
            info: RepoInfo = self._result("info")
            self._info = info
            self.repo_id = info.repo_id
            self._commit = info.sha
            self._early = set(self._futures)
            self._token = self._tokens.after(info)
            if info.sha and not info.gated and not info.private:
                self._small_files = {file.path: file for file in info.files or () if file.blob_id}
        return self._info

    @property
    def may_read_files(self) -> bool:
        """Whether there is hope of reading files; a gate opens to no anonymous request."""
        return self._token is not None or not self.info().gated

    def tree(self) -> list[RepoFile]:
        """The file list: the description's, or that of the tree where it has none."""
        listed = self.info().files
        if listed is None:
            files: list[RepoFile] = self._result("tree")
            return files
        if len(listed) > self.limits.files:
            raise self.reading.exceeded("files")
        return list(listed)

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        """Read so many bytes at first of each of these files."""
        usable = min(max(header_bytes, MIN_FIRST_READ), self.limits.first_read_most)
        self._first_reads |= dict.fromkeys(paths, usable)

    def expect_pieces(self, pieces: Iterable[RepoFile]) -> None:
        """Read these raw pieces as one GGUF file, by the path of the first."""
        together = tuple(pieces)
        self._pieces[together[0].path] = together

    def json(self, path: str) -> dict[str, Any]:
        """A configuration."""
        value: dict[str, Any] = self._result("json", path)
        return value

    def index(self, path: str) -> dict[str, Any]:
        """A shard index, which may be larger than a configuration."""
        value: dict[str, Any] = self._result("index", path)
        return value

    def header(self, path: str) -> Header:
        """The tensors of a safetensors file."""
        header: ArrivedHeader = self._result("header", path)
        return header.parsed(self.repo_id, path)

    def gguf(self, path: str) -> GgufHeader:
        """The metadata and tensors of a GGUF file."""
        header: GgufHeader = self._result("gguf", path)
        return header

    def headers(self, index: str) -> AllHeaders:
        """The tensors of every shard of an index, if the Hub's API tells them."""
        found: AllHeaders = self._result("headers", index)
        return found

    def _result(self, what: str, path: str = "") -> Any:
        key = (what, path)
        self.prefetch(what, path)
        try:
            value, commit = self._futures[key].result(self.reading.seconds_left())
        except TimeoutError:
            raise HubUnreachable(repo_id=self.repo_id, reason="timeout") from None
        if key in self._early and self._commit and commit not in (None, self._commit):
            # Somebody pushed between two reads of the branch: read again, at the commit.
            self._early.remove(key)
            del self._futures[key]
            return self._result(what, path)
        return value

    def _asked(self, path: str = "") -> Asked:
        return Asked(self.repo_id, self.revision or DEFAULT_BRANCH, path)

    def _get(self, wanted: Wanted) -> HubAnswer:
        return self.session.get(wanted, self.reading, self._token)

    def _read_info(self, path: str) -> Read[RepoInfo]:
        url = info_url(self.session.endpoint, self.repo_id, self.revision)
        answer = self._get(Wanted(url, self._asked(), "info_bytes"))
        return parse_info(self._api_json(answer.body), self.repo_id), None

    def _read_tree(self, path: str) -> Read[list[RepoFile]]:
        files: dict[str, RepoFile] = {}
        cursor: str | None = None
        for _ in range(self.limits.tree_pages):
            revision = self.revision or DEFAULT_BRANCH
            url = tree_url(self.session.endpoint, self.repo_id, revision, cursor)
            answer = self._get(Wanted(url, self._asked(), "info_bytes"))
            page = parse_tree(self._api_json(answer.body), self.repo_id)
            files |= {file.path: file for file in page}
            if len(files) > self.limits.files:
                raise self.reading.exceeded("files")
            cursor = next_cursor(answer.headers)
            if cursor is None:
                return list(files.values()), None
        raise self.reading.exceeded("tree_pages")

    def _read_json(self, path: str) -> Read[dict[str, Any]]:
        answer = self._read_small_file(path, "config_bytes")
        value = parse_object(answer.body, self.repo_id, path, self.limits.json_depth)
        return value, answer.commit

    def _read_index(self, path: str) -> Read[dict[str, Any]]:
        answer = self._read_small_file(path, "index_bytes")
        return parse_object(answer.body, self.repo_id, path), answer.commit

    def _read_header(self, path: str) -> Read[ArrivedHeader]:
        expected = self._first_reads.get(path, self.limits.first_read_bytes)
        ranges = partial(self._read_range, "header_bytes")
        return read_header(ranges, path, expected, self.limits, self.repo_id)

    def _read_gguf(self, path: str) -> Read[GgufHeader]:
        files = self._pieces.get(path, (RepoFile(path, None),))
        guess = self._info.gguf_header_bytes if self._info else None
        read = import_module("scrapers.gguf_reading").read_gguf
        ranges = partial(self._read_range, "gguf_header_bytes")
        found: Read[GgufHeader] = read(ranges, files, guess, self.limits, self.repo_id)
        return found

    def _read_range(
        self, limit: str, path: str, span: tuple[int, int], url: str | None
    ) -> HubAnswer:
        """Of a file; from where an earlier answer came, which spares the Hub's redirect."""
        if url is None:
            return self._read_file(path, limit, span)
        return self._get(Wanted(url, self._asked(path), limit, span))

    def _read_headers(self, path: str) -> Read[AllHeaders]:
        asked = self._asked(path)
        url = headers_url(self.session.endpoint, self.repo_id, path)
        wanted = Wanted(url, asked, "headers_bytes", None, 1, self.limits.headers_seconds)
        try:
            answer = self._get(wanted)
        except ModelUnreadable as error:
            self.reading.seconds_left()
            return AllHeaders(refusal=error), None
        return AllHeaders(answer.body), answer.commit

    def _read_small_file(self, path: str, limit: str) -> HubAnswer:
        """A file that is not in LFS: where the Hub would redirect to, if that is known."""
        file = self._small_files.get(path)
        detours = self.session.detours
        if file is None or self._commit is None or not detours.is_open("cached_file"):
            return self._read_file(path, limit)
        endpoint, revision = self.session.endpoint, self.revision or DEFAULT_BRANCH
        url = cached_file_url(endpoint, self.repo_id, revision, self._commit, file)
        try:
            answer = self._get(Wanted(url, self._asked(path), limit, None, 1))
            if is_blob(answer.body, file.blob_id):
                return answer
            refused = True
        except LimitsExceeded:
            raise
        except ModelUnreadable as error:
            self.reading.seconds_left()
            refused = not may_pass(error)
        if refused:
            detours.close("cached_file", CLOSED_SECONDS)
        return self._read_file(path, limit)

    def _read_file(self, path: str, limit: str, span: tuple[int, int] | None = None) -> HubAnswer:
        revision = self._commit or self.revision or DEFAULT_BRANCH
        url = file_url(self.session.endpoint, self.repo_id, revision, path)
        return self._get(Wanted(url, self._asked(path), limit, span))

    def _api_json(self, body: bytes) -> Any:
        try:
            return load_json(body, self.repo_id, "")
        except ModelUnreadable:
            raise HubUnreachable(repo_id=self.repo_id, reason="unexpected_answer") from None


_READERS: dict[str, Callable[[RepoReader, str], Read[Any]]] = {
    "info": RepoReader._read_info,
    "tree": RepoReader._read_tree,
    "json": RepoReader._read_json,
    "index": RepoReader._read_index,
    "header": RepoReader._read_header,
    "gguf": RepoReader._read_gguf,
    "headers": RepoReader._read_headers,
}
