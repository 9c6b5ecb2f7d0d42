"""HubSession: every byte from the network comes through here, bounded and timed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

from gpusizer.errors import HubUnreachable, ModelUnreadable
from scrapers.answers import BrokenAnswer, CutAnswer, HttpAnswer
from scrapers.connections import Connections
from scrapers.detours import Detours
from scrapers.limits import PARALLEL_READS
from scrapers.reading import Reading
from scrapers.redirects import is_allowed_target, origin_of
from scrapers.refusals import Asked, refusal
from scrapers.retries import RETRIED_STATUSES, pause_seconds, retry_after_seconds

USER_AGENT = "gpusizer"
REDIRECTS = frozenset({301, 302, 303, 307, 308})
PIECE_BYTES = 2**18
# Bodies of redirects and errors are read only so that the connection can be used again.
REFUSAL_BYTES = 2**16
PARTIAL = 206
RANGE_NOT_SATISFIABLE = 416

_ABSOLUTE = ("https://", "http://")
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to read.

    Attributes:
        url: its address, at the endpoint.
        asked: what it is, for errors.
        limit: attribute of Limits that bounds the body.
        span: first byte and last byte + 1, None for everything.
        attempts: tries before a failure counts, None for as many as Limits allow.
        seconds: time for everything, None for as long as the model may take.
    """

    url: str
    asked: Asked
    limit: str
    span: tuple[int, int] | None = None
    attempts: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HubAnswer:
    """A successful answer.

    Attributes:
        body: the whole body, or exactly the span asked for (shorter only at the file's end).
        headers: of the last hop.
        commit: X-Repo-Commit of any hop.
        total_bytes: size of the whole file, where the answer says it.
        url: the last hop.
    """

    body: bytes
    headers: Mapping[str, str]
    commit: str | None = None
    total_bytes: int | None = None
    url: str = ""


ReadRange = Callable[[str, tuple[int, int], str | None], HubAnswer]
"""Of a file these bytes, by the URL of an earlier answer where there is one."""


class HubSession:
    """A pooled connection to one Hub, with its policy on redirects, retries and size.

    Safe to share between threads. `requests` and `bytes_read` count over its life;
    `detours` remembers what this Hub refuses.
    Failures are HubUnreachable with `reason` "timeout", "connection", "truncated",
    "server_error", "unexpected_answer", "redirect" (to an address that is not allowed) or
    "redirect_loop"; HubRateLimited; LimitsExceeded; or what the Hub's refusal means.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        parallel_reads: int = PARALLEL_READS,
        cdn_origins: Collection[str] = (),
        ca_bundle: str | None = None,
    ) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.requests = 0
        self.bytes_read = 0
        self._cdn_origins = tuple(cdn_origins)
        self._origin = origin_of(self.endpoint)
        self._lock = threading.Lock()
        self.detours = Detours()
        self._connections = Connections(parallel_reads, ca_bundle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections."""
        self._connections.close()

    def get(self, wanted: Wanted, reading: Reading, token: str | None = None) -> HubAnswer:
        """Read one thing, retrying what may pass: 429, 5xx, broken and cut connections."""
        attempt = 0
        attempts = wanted.attempts or reading.limits.attempts
        until = None if wanted.seconds is None else reading.now() + wanted.seconds
        while True:
            hint = None
            try:
                status, answer = self._follow(wanted, reading, token, until)
            except (BrokenAnswer, OSError) as error:
                failure: ModelUnreadable = HubUnreachable(
                    repo_id=wanted.asked.repo_id, reason=_reason(error)
                )
            else:
                if status < 400 or (status == RANGE_NOT_SATISFIABLE and wanted.span):
                    return answer
                failure = refusal(status, answer.headers, wanted.asked)
                if status not in RETRIED_STATUSES:
                    raise failure
                hint = retry_after_seconds(status, answer.headers)
            pause = pause_seconds(attempt, hint)
            attempt += 1
            if attempt >= attempts or pause >= reading.seconds_left():
                raise failure
            reading.pause(pause)

    def _follow(
        self, wanted: Wanted, reading: Reading, token: str | None, until: float | None
    ) -> tuple[int, HubAnswer]:
        """Status and answer at the end of the redirects, each checked before it is followed."""
        url, commit = wanted.url, None
        repo_id = wanted.asked.repo_id
        for _ in range(reading.limits.redirects + 1):
            response = self._send(url, wanted, reading, token, until)
            try:
                commit = response.headers.get("X-Repo-Commit") or commit
                target = response.headers.get("Location")
                if response.status not in REDIRECTS or target is None:
                    place = _Place(url, commit, until)
                    return response.status, self._answer(response, wanted, reading, place)
                self._body(response, REFUSAL_BYTES, reading, until)
            finally:
                response.close()
            url = target if target.startswith(_ABSOLUTE) else urljoin(url, target)
            if not is_allowed_target(url, self.endpoint, self._cdn_origins):
                raise HubUnreachable(repo_id=repo_id, reason="redirect")
        raise HubUnreachable(repo_id=repo_id, reason="redirect_loop")

    def _send(
        self, url: str, wanted: Wanted, reading: Reading, token: str | None, until: float | None
    ) -> HttpAnswer:
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        if wanted.span:
            start, stop = wanted.span
            headers |= {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        origin = origin_of(url)
        # The CDN's addresses carry their own signature; the token is the Hub's alone.
        if origin is None:
            raise HubUnreachable(repo_id=wanted.asked.repo_id, reason="unexpected_answer")
        if token and origin == self._origin:
            headers["Authorization"] = f"Bearer {token}"
        left = reading.seconds_left(until)
        reading.count_request()
        with self._lock:
            self.requests += 1
        limits = reading.limits
        return self._connections.get(
            url,
            origin,
            headers,
            min(limits.connect_seconds, left),
            min(limits.request_seconds, left),
        )

    def _answer(
        self, response: HttpAnswer, wanted: Wanted, reading: Reading, place: _Place
    ) -> HubAnswer:
        start, stop = wanted.span or (0, getattr(reading.limits, wanted.limit))
        first, total = _extent(response)
        headers = response.headers
        if response.status >= 400:
            self._body(response, REFUSAL_BYTES, reading, place.until)
            return HubAnswer(b"", headers, place.commit, total, place.url)
        if response.status == PARTIAL and first != start:
            raise HubUnreachable(repo_id=wanted.asked.repo_id, reason="unexpected_answer")
        # A Range that was ignored: what lies before the span has to be read, but no more.
        skipped = 0 if response.status == PARTIAL else start
        body = self._body(response, skipped + stop - start, reading, place.until)
        if wanted.span is None and len(body) > stop:
            raise reading.exceeded(wanted.limit)
        body = body[skipped : skipped + stop - start]
        return HubAnswer(body, headers, place.commit, total, place.url)

    def _body(
        self, response: HttpAnswer, ceiling: int, reading: Reading, until: float | None
    ) -> bytes:
        """The body up to one byte past `ceiling`: enough to tell that there is more."""
        pieces: list[bytes] = []
        length = 0
        while length <= ceiling:
            reading.seconds_left(until)
            size = min(PIECE_BYTES, ceiling + 1 - length)
            # read1 returns what has arrived; read would wait for all of it past any deadline.
            piece = response.read1(size)
            if not piece:
                break
            reading.count_bytes(len(piece))
            with self._lock:
                self.bytes_read += len(piece)
            pieces.append(piece)
            length += len(piece)
        return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an answer was found, and until when it may be read."""

    url: str
    commit: str | None
    until: float | None


def _extent(response: HttpAnswer) -> tuple[int | None, int | None]:
    """First byte of a partial answer (None for a whole one), and size of the whole file."""
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if match:
        total = int(match[3]) if match[3].isdigit() else None
        return (int(match[1]) if match[1] else None), total
    length = response.headers.get("Content-Length", "")
    whole = length.isdigit() and "Content-Encoding" not in response.headers
    return None, int(length) if whole else None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return "truncated" if isinstance(error, CutAnswer) else "connection"
