"""HubSession: sends all requests to the Hub, within limits of bytes and seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

import requests

from gpusizer.core.errors import HubUnreachable, ModelUnreadable
from scrapers.client.allowance import HubAllowance, OnCall, ignore_call, kind_of
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

_in_flight = threading.BoundedSemaphore(PROCESS_READS)
"""Every request of this process holds it from sending to the end of the response body."""


class HubSession:
    """A pool of connections to one Hub, which checks redirects, retries and limits sizes.

    Safe to share between threads. `headers_route` and `small_files_route` are the circuit breakers
    of the routes for all headers of a model and for a file in git; `allowance` is noted and obeyed
    by requests without a token; `on_call` is called for every request.

    Failures are HubUnreachable with `reason` "timeout", "connection", "truncated", "server_error",
    "unexpected_answer", "redirect" (to an address that is not allowed) or "redirect_loop";
    HubRateLimited; LimitsExceeded; or the error of `status_error`.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        cdn_origins: Collection[str] = (),
        on_call: OnCall = ignore_call,
        allowance: HubAllowance | None = None,
    ) -> None:
        self.endpoint = endpoint.rstrip("/")
        self.allowance = allowance or HubAllowance()
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
        """Send a request and return `use(response)`; retry transient failures.

        Transient are RETRIED_STATUSES, connections that break or end early, 404 or 410 for a file
        that the Hub lists, and a response for which `use` raises HubUnreachable.
        """
        attempt = 0
        limits = budget.limits
        deadline = budget.deadline_after(request.seconds)
        while True:
            hint, attempts = None, limits.attempts
            try:
                response = self._follow(request, budget, token, deadline)
                status = response.status
                if status < 400 or (status == RANGE_NOT_SATISFIABLE and request.span):
                    return use(response)
            except TransportError as error:
                failure: ModelUnreadable = transport_error(error, request.resource)
                # Middleboxes drop idle connections silently: others in the pool may be dead, too.
                self._client.close()
            except HubUnreachable as error:
                if error.fields["reason"] not in _RETRIED_REASONS:
                    raise
                failure = error
            else:
                failure = status_error(status, response.headers, request.resource)
                if status in RETRIED_STATUSES:
                    attempts = limits.busy_attempts
                    hint = retry_after_seconds(status, response.headers)
                elif request.is_listed and status in _ABSENT_STATUSES:
                    failure = HubUnreachable(
                        repo_id=request.resource.repo_id, reason="unexpected_answer"
                    )
                else:
                    raise failure
            pause = pause_seconds(attempt, hint)
            attempt += 1
            if attempt >= (request.attempts or attempts) or pause >= budget.seconds_left():
                raise failure
            budget.pause(pause)

    def _follow(
        self, request: HubRequest, budget: ReadBudget, token: str | None, deadline: float
    ) -> HubResponse:
        """Return the response after the redirects; every target is checked first."""
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
        """Wait for one of the process's PROCESS_READS, send a request, yield its open response."""
        if not _in_flight.acquire(timeout=budget.seconds_left(deadline)):
            raise HubUnreachable(repo_id=budget.repo_id, reason="timeout")
        try:
            if not _has_token(prepared):
                self.allowance.check(kind_of(prepared.url or "", self.endpoint), budget.repo_id)
            seconds, limits = budget.seconds_left(deadline), budget.limits
            timeouts = min(limits.connect_seconds, seconds), min(limits.request_seconds, seconds)
            with self._send(prepared, timeouts, seconds) as response:
                yield response
        finally:
            _in_flight.release()

    def _send(
        self, prepared: requests.PreparedRequest, timeouts: tuple[float, float], seconds: float
    ) -> requests.Response:
        """Send a request and return its open response; calls `on_call` with its kind and status."""
        kind = kind_of(prepared.url or "", self.endpoint)
        try:
            response = self._client.open(prepared, timeouts, seconds)
        except TransportError:
            self._on_call(kind, None)
            raise
        self._on_call(kind, response.status_code)
        if kind != "cdn" and not _has_token(prepared):
            self.allowance.note(response.headers)
        return response


def _has_token(prepared: requests.PreparedRequest) -> bool:
    """Whether a request counts against the allowance of a token, not of this address."""
    return "Authorization" in prepared.headers
