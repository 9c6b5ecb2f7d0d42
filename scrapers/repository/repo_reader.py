"""RepoReader: the files of one repository, read in parallel and each at most once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    LimitsExceeded,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
    RevisionNotFound,
)
from gpusizer.hub.model_ref import DEFAULT_BRANCH
from gpusizer.hub.published_results import PublishedResult
from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest, HubResponse
from scrapers.client.hub_api import (
    RepoInfo,
    evaluations_url,
    file_url,
    headers_url,
    info_url,
    next_cursor,
    parse_answer,
    parse_info,
    parse_tree,
    small_file_url,
    tree_url,
)
from scrapers.client.published_results import evaluation_results
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.weight_files import may_be_cut
from scrapers.formats.weight_sets import RepoFile
from scrapers.repository.header_turns import Header, HeaderTurns
from scrapers.repository.listed_files import ListedFiles
from scrapers.repository.repo_files import RepoFiles, Value
from scrapers.repository.tokens import ANONYMOUS, Tokens, is_open_to_all

MIN_FIRST_READ = 4096


class RepoReader(RepoFiles):
    """Starts reads in threads and returns their results; every read is done once.

    The failure of a read is raised only when its result is requested. Use as a context manager:
    leaving it cancels reads that have not started, and ends the others.
    """

    def __init__(
        self,
        session: HubSession,
        budget: ReadBudget,
        repo_id: str,
        revision: str | None,
        tokens: Tokens = ANONYMOUS,
    ) -> None:
        super().__init__(budget, repo_id, revision)
        self.session = session
        self._tokens = tokens
        self._token = tokens.host if tokens.is_hosts_look else tokens.visitor
        self._info: RepoInfo | None = None
        self._first_reads: dict[str, int] = {}
        self._header_turns = HeaderTurns(budget)
        self._believed: Sequence[RepoFile] = ()
        self._listed = ListedFiles((), repo_id)
        self._tree: list[RepoFile] | None = None
        self._futures: dict[tuple[str, str], Future[Any]] = {}
        self._pool = ThreadPoolExecutor(self.limits.parallel_reads, "hub-read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.budget.abandon()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def prefetch(self, method: str, path: str = "") -> None:
        self._started(getattr(self, f"_read_{method}"), path)

    def _started(self, read: Callable[[str], Value], path: str) -> Future[Value]:
        key = (read.__name__, path)
        if key not in self._futures:
            self._futures[key] = self._pool.submit(read, path)
        return self._futures[key]

    def info(self) -> RepoInfo:
        """Return the API's description; later reads are done at its commit."""
        if self._info is None:
            self._info = info = self._described()
            self.repo_id = info.repo_id
            self._token = self._tokens.token_for(info)
        return self._info

    def _described(self) -> RepoInfo:
        # With the host's token, the description of a repository that is not public is not passed
        # on: Raises HubRateLimited instead.
        hidden = HubRateLimited(
            repo_id=self.repo_id,
            retry_after_seconds=self.session.allowance.low_seconds() or None,
        )
        try:
            info = self._result(self._read_info, "")
        except (GatedModel, PrivateOrMissing, ModelNotFound, RevisionNotFound):
            if self._tokens.is_hosts_look:
                raise hidden from None
            raise
        if self._tokens.is_hosts_look and not is_open_to_all(info):
            raise hidden
        return info

    @property
    def may_read_files(self) -> bool:
        return self._token is not None or not self.info().gated

    @property
    def may_ask_headers(self) -> bool:
        """Whether the API may send all headers in one response, as for `main` only."""
        if self.revision not in (None, DEFAULT_BRANCH):
            return False
        # The file of each shard counts against the larger allowance.
        is_spared = self.session.allowance.is_low("api")
        return self.session.headers_route.allows_requests and not is_spared

    def suspend_headers_route(self, refusal: ModelUnreadable) -> None:
        self.session.headers_route.trip_after(refusal)

    def tree(self) -> Sequence[RepoFile]:
        """Return the file list of the description, or else that of the tree.

        Later responses are checked against the list (`ListedFiles`).
        """
        listed = self.info().files
        if self._tree is None and (listed is None or may_be_cut(listed)):
            self._tree = self._result(self._read_tree, "")
        files = listed if self._tree is None else self._tree
        return self._believe(files or ())

    @property
    def listed(self) -> Mapping[str, RepoFile]:
        self.tree()
        return self._listed.files

    def confirm_tree(self) -> bool:
        """Request the tree, once; return whether it has files that the list so far lacks."""
        if self._tree is not None:
            return False
        before = self._listed
        self._tree = self._result(self._read_tree, "")
        return any(file.path not in before for file in self._believe(self._tree))

    def _believe(self, files: Sequence[RepoFile]) -> Sequence[RepoFile]:
        if len(files) > self.limits.files:
            raise self.budget.exceeded("files")
        if files is not self._believed:
            self._believed, self._listed = files, ListedFiles(files, self.repo_id)
        return files

    def expect_headers(self, paths: Iterable[str], header_bytes: int) -> None:
        usable = min(max(header_bytes, MIN_FIRST_READ), self.limits.first_read_most)
        self._first_reads |= dict.fromkeys(paths, usable)

    def evaluations(self) -> tuple[PublishedResult, ...]:
        return self._result(self._read_evaluations, "")

    def headers(self, index: str) -> bytes:
        try:
            return self._result(self._read_headers, index)
        finally:
            # frees the memory: the caller parses it once
            del self._futures[self._read_headers.__name__, index]

    def _result(self, read: Callable[[str], Value], path: str) -> Value:
        try:
            return self._started(read, path).result(self.budget.seconds_left())
        except TimeoutError:
            raise HubUnreachable(repo_id=self.repo_id, reason="timeout") from None
        except (GatedModel, PrivateOrMissing):
            is_file = read != self._read_headers and path in self._listed
            if not is_file or self.info().gated or self.info().private:
                raise
            # The description says that the repository is public: a proxy or mirror refused it.
            raise HubUnreachable(repo_id=self.repo_id, reason="unexpected_answer") from None

    def _commit(self) -> str:
        # The commit of the description, else the requested revision.
        return self.info().sha or self.revision or DEFAULT_BRANCH

    def _resource(self, path: str = "") -> HubResource:
        return HubResource(self.repo_id, self.revision or DEFAULT_BRANCH, path)

    def _read(self, request: HubRequest, use: Callable[[HubResponse], Value]) -> Value:
        return self.session.read(request, use, self.budget, self._token)

    def _read_info(self, path: str) -> RepoInfo:
        url = info_url(self.session.endpoint, self.repo_id, self.revision)
        request = HubRequest(url, self._resource(), "info_bytes")
        return self._read(
            request,
            lambda answer: parse_info(parse_answer(answer.body, self.budget), self.repo_id),
        )

    def _read_tree(self, path: str) -> list[RepoFile]:
        files: dict[str, RepoFile] = {}
        cursor: str | None = None
        for _ in range(self.limits.tree_pages):
            url = tree_url(self.session.endpoint, self.repo_id, self._commit(), cursor)
            request = HubRequest(url, self._resource(), "info_bytes", is_listed=True)
            page, cursor = self._read(request, self._parsed_page)
            files |= {file.path: file for file in page}
            if len(files) > self.limits.files:
                raise self.budget.exceeded("files")
            if cursor is None:
                return list(files.values())
        raise self.budget.exceeded("tree_pages")

    def _parsed_page(self, answer: HubResponse) -> tuple[list[RepoFile], str | None]:
        files = parse_tree(parse_answer(answer.body, self.budget), self.repo_id)
        return files, next_cursor(answer.headers, self.repo_id)

    def _whole(self, path: str, limit: str) -> bytes:
        # The content is checked against the file list. The address of a file in git is known, which
        # saves the Hub's redirect. Without a usable response from there, as from a mirror that
        # lacks the route, the redirect is requested. So it is if a visitor with a token is refused:
        # the route's cache may not know that visitor's rights.
        seconds = self.limits.card_seconds if limit == "card_bytes" else None
        read = partial(self._read_file, path, limit, None, self._listed.check_whole)
        url = self._small_file_url(path)
        if url is not None:
            try:
                return read(url, seconds=seconds, attempts=1).body
            except LimitsExceeded:
                raise
            except ModelUnreadable as error:
                self.budget.seconds_left()
                if isinstance(error, GatedModel) and self._token is None:
                    raise
                if isinstance(error, HubUnreachable):
                    self.session.small_files_route.trip_after(error)
        return read(seconds=seconds).body

    def _small_file_url(self, path: str) -> str | None:
        commit = self.info().sha
        is_usable = "/" in self.repo_id and self._listed.is_in_git(path)
        if commit is None or not is_usable or not self.session.small_files_route.allows_requests:
            return None
        return small_file_url(self.session.endpoint, self.repo_id, commit, path)

    def _read_header(self, path: str) -> Header:
        expected = self._first_reads.get(path, self.limits.first_read_bytes)
        return self._header_turns.read(self._source(path, "header_bytes"), path, expected)

    def _source(self, path: str, limit: str) -> Source:
        url: str | None = None

        def source(start: int, stop: int) -> tuple[bytes, int | None]:
            nonlocal url
            response = self._read_file(path, limit, (start, stop), self._listed.check_range, url)
            url = url or response.url  # of the CDN, which saves the Hub's redirect
            return response.body, response.total_bytes

        return source

    def _read_headers(self, path: str) -> bytes:
        resource = self._resource(path)
        url = headers_url(self.session.endpoint, self.repo_id, path)
        request = HubRequest(url, resource, "headers_bytes", None, 1, self.limits.headers_seconds)
        return self.session.get(request, self.budget, self._token).body

    def _read_evaluations(self, path: str) -> tuple[PublishedResult, ...]:
        if self.session.allowance.is_low("api"):  # needed for models, which go first
            raise HubRateLimited(repo_id=self.repo_id, retry_after_seconds=None)
        url = evaluations_url(self.session.endpoint, self.repo_id, self.revision)
        seconds, today = self.limits.evaluations_seconds, datetime.now(UTC).date()
        request = HubRequest(url, self._resource(), "evaluations_bytes", None, 1, seconds)
        return self._read(
            request,
            lambda answer: evaluation_results(parse_answer(answer.body, self.budget), today),
        )

    def _read_file(
        self,
        path: str,
        limit: str,
        span: tuple[int, int] | None,
        check: Callable[[HubRequest, HubResponse], HubResponse],
        url: str | None = None,
        seconds: float | None = None,
        attempts: int | None = None,
    ) -> HubResponse:
        # From `url` if given; `check` may raise HubUnreachable.
        if url is None:
            url = file_url(self.session.endpoint, self.repo_id, self._commit(), path)
        is_listed = path in self._listed
        resource = self._resource(path)
        request = HubRequest(url, resource, limit, span, attempts, seconds, is_listed)
        return self._read(request, partial(check, request))
