"""HubSession: sends all requests to the Hub, within limits of bytes and seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NoReturn, Self, TypeVar

import requests
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from scrapers.client.allowance import OnCall, RateLimitTracker, ignore_call, kind_of
from scrapers.client.failures import (
    RETRIED_STATUSES,
    CircuitBreaker,
    TransportError,
    pause_seconds,
    retry_after_seconds,
    status_error,
    transport_error,
)
from scrapers.client.http_client import EndpointAuth, HttpClient
from scrapers.client.http_response import (
    RANGE_NOT_SATISFIABLE,
    HubRequest,
    HubResponse,
    discard_body,
    read_response,
)
from scrapers.client.read_budget import ReadBudget
from scrapers.client.redirects import (
    REDIRECT_STATUSES,
    is_allowed_target,
    origin_of,
    redirect_target,
)
from scrapers.limits import PROCESS_READS

USER_AGENT = "gpusizer"
Value = TypeVar("Value")

_ABSENT_STATUSES = frozenset({404, 410})
_RETRIED_REASONS = frozenset({"unexpected_answer", "truncated"})

# Every request of this process holds it from sending to the end of the response body.
_in_flight = threading.BoundedSemaphore(PROCESS_READS)


class HubSession:
    """A pool of connections to one Hub that checks redirects, retries and limits sizes.

    Safe to share between threads. Failures are HubUnreachable with `reason` "timeout",
    "connection", "truncated", "server_error", "unexpected_answer", "redirect" (to an address that
    is not allowed) or "redirect_loop"; HubRateLimited; LimitsExceeded; or the error of
    `status_error`.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        cdn_origins: Collection[str] = (),
        on_call: OnCall = ignore_call,
        allowance: RateLimitTracker | None = None,
    ) -> None:
        # Requests without a token note and obey the allowance; `on_call` is called for every
        # request.
        self.endpoint = endpoint.rstrip("/")
        self.allowance = allowance or RateLimitTracker()
        # Circuit breakers of the routes for all headers of a model and for a file in git.
        self.headers_route = CircuitBreaker()
        self.small_files_route = CircuitBreaker()
        self._cdn_origins = tuple(cdn_origins)
        self._origin = origin_of(self.endpoint)
        self._client = HttpClient(PROCESS_READS)
        self._on_call = on_call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def get(self, request: HubRequest, budget: ReadBudget, token: str | None = None) -> HubResponse:
        """Return the response, retried as in `read`; the content of its body is not checked."""
        return self.read(request, lambda response: response, budget, token)

    def read(
        self,
        request: HubRequest,
        use: Callable[[HubResponse], Value],
        budget: ReadBudget,
        token: str | None = None,
    ) -> Value:
        """Send a request and return `use(response)`; retry transient failures."""
        # Transient are RETRIED_STATUSES, connections that break or end early, 404 or 410 for a file
        # that the Hub lists, and a response for which `use` raises HubUnreachable.
        deadline = budget.deadline_after(request.seconds)
        retrying = Retrying(
            retry=retry_if_exception_type(_Failed),
            wait=lambda state: pause_seconds(
                state.attempt_number - 1, _failure(state).hint_seconds
            ),
            stop=lambda state: (
                state.attempt_number >= _failure(state).attempts
                or state.upcoming_sleep >= budget.seconds_left()
            ),
            sleep=budget.pause,
            retry_error_callback=_raise_error,
        )
        value: Value = retrying(self._attempt, request, use, budget, token, deadline)
        return value

    def _attempt(
        self,
        request: HubRequest,
        use: Callable[[HubResponse], Value],
        budget: ReadBudget,
        token: str | None,
        deadline: float,
    ) -> Value:
        # Raises _Failed if another attempt may succeed.
        limits = budget.limits
        attempts = request.attempts or limits.attempts
        try:
            response = self._follow(request, budget, token, deadline)
            status = response.status
            if status < 400 or (status == RANGE_NOT_SATISFIABLE and request.span):
                return use(response)
        except TransportError as error:
            # Middleboxes drop idle connections silently: others in the pool may be dead, too.
            self._client.close()
            raise _Failed(transport_error(error, request.resource), attempts) from None
        except HubUnreachable as error:
            if error.fields["reason"] not in _RETRIED_REASONS:
                raise
            raise _Failed(error, attempts) from None
        failure = status_error(status, response.headers, request.resource)
        if status in RETRIED_STATUSES:
            hint = retry_after_seconds(status, response.headers)
            raise _Failed(failure, request.attempts or limits.busy_attempts, hint)
        if request.is_listed and status in _ABSENT_STATUSES:
            repo_id = request.resource.repo_id
            raise _Failed(HubUnreachable(repo_id=repo_id, reason="unexpected_answer"), attempts)
        raise failure

    def _follow(
        self, request: HubRequest, budget: ReadBudget, token: str | None, deadline: float
    ) -> HubResponse:
        # Every target of a redirect is checked first.
        refused = HubUnreachable(repo_id=request.resource.repo_id, reason="redirect")
        auth = EndpointAuth(token, self._origin)
        url: str | None = request.url
        for _ in range(budget.limits.redirects + 1):
            if url is None:
                raise refused
            prepared = self._prepare(url, request.span, auth)
            # requests normalises the URL: the one that it would send is checked as well.
            if not is_allowed_target(prepared.url or "", self.endpoint, self._cdn_origins):
                raise refused
            with self._opened(prepared, budget, deadline) as response:
                location = response.headers.get("Location")
                if response.status_code not in REDIRECT_STATUSES or location is None:
                    return read_response(response, request, budget, deadline)
                discard_body(response, budget, deadline)
            url = redirect_target(url, location, self.endpoint, self._cdn_origins)
        raise HubUnreachable(repo_id=request.resource.repo_id, reason="redirect_loop")

    def _prepare(
        self, url: str, span: tuple[int, int] | None, auth: EndpointAuth
    ) -> requests.PreparedRequest:
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        if span:
            start, stop = span
            headers |= {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        request = requests.Request("GET", url, headers=headers, auth=auth)
        return self._client.prepare_request(request)

    @contextmanager
    def _opened(
        self, prepared: requests.PreparedRequest, budget: ReadBudget, deadline: float
    ) -> Iterator[requests.Response]:
        # Yields the open response, within PROCESS_READS of this process.
        kind = kind_of(prepared.url or "", self.endpoint)
        # A request with a token counts against that token, not against this address.
        is_anonymous = "Authorization" not in prepared.headers
        if not _in_flight.acquire(timeout=budget.seconds_left(deadline)):
            raise HubUnreachable(repo_id=budget.repo_id, reason="timeout")
        status = None
        try:
            if is_anonymous:
                self.allowance.check(kind, budget.repo_id)
            seconds, limits = budget.seconds_left(deadline), budget.limits
            timeouts = min(limits.connect_seconds, seconds), min(limits.request_seconds, seconds)
            try:
                with self._client.open(prepared, timeouts, seconds) as response:
                    status = response.status_code
                    self._on_call(kind, status)
                    if is_anonymous and kind != "cdn":
                        self.allowance.note(response.headers)
                    yield response
            except TransportError:
                if status is None:
                    self._on_call(kind, None)
                raise
        finally:
            _in_flight.release()


class _Failed(Exception):
    # Up to `attempts` are made, and none before `hint_seconds` have passed.
    def __init__(
        self, error: ModelUnreadable, attempts: int, hint_seconds: float | None = None
    ) -> None:
        super().__init__()
        self.error = error
        self.attempts = attempts
        self.hint_seconds = hint_seconds


def _failure(state: RetryCallState) -> _Failed:
    failure = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(failure, _Failed)
    return failure


def _raise_error(state: RetryCallState) -> NoReturn:
    raise _failure(state).error
