"""Failures of requests to the Hub: their errors, retries and pauses of a route."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from requests import RequestException, Timeout
from urllib3.exceptions import HTTPError, InvalidHeader, ProtocolError, TimeoutError
from urllib3.util import Retry

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
    RepoFileNotFound,
    RevisionNotFound,
)
from scrapers.client.allowance import parse_window

# Exceptions of requests, and those that urllib3 raises while a body is streamed.
TransportError = (RequestException, HTTPError)


@dataclass(frozen=True, slots=True)
class HubResource:
    """Repository, revision and file of a request, for the fields of its errors."""

    repo_id: str
    revision: str = "main"
    path: str = ""


ErrorFactory = Callable[[HubResource], ModelUnreadable]

# Values of the X-Error-Code header, as in huggingface_hub.utils.hf_raise_for_status.
_BY_CODE: dict[str, ErrorFactory] = {
    "RepoNotFound": lambda resource: ModelNotFound(repo_id=resource.repo_id),
    "RevisionNotFound": lambda resource: RevisionNotFound(
        repo_id=resource.repo_id, revision=resource.revision
    ),
    "EntryNotFound": lambda resource: RepoFileNotFound(
        repo_id=resource.repo_id, file=resource.path
    ),
    "GatedRepo": lambda resource: GatedModel(repo_id=resource.repo_id),
}

# Responses without that header: a private or missing repository (401), a disabled one (403).
_BY_STATUS: dict[int, ErrorFactory] = {
    401: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
    403: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
    404: lambda resource: (
        RepoFileNotFound(repo_id=resource.repo_id, file=resource.path)
        if resource.path
        else ModelNotFound(repo_id=resource.repo_id)
    ),
    410: lambda resource: ModelNotFound(repo_id=resource.repo_id),
    451: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
}


def status_error(status: int, headers: Mapping[str, str], resource: HubResource) -> ModelUnreadable:
    """Return the error for a response with a status of 400 or more."""
    if status == 429:
        seconds = retry_after_seconds(status, headers)
        return HubRateLimited(repo_id=resource.repo_id, retry_after_seconds=seconds)
    factory = _BY_CODE.get(headers.get("X-Error-Code", "")) or _BY_STATUS.get(status)
    if factory is not None:
        return factory(resource)
    reason = "server_error" if status >= 500 else "unexpected_answer"
    return HubUnreachable(repo_id=resource.repo_id, reason=reason)


def transport_error(error: RequestException | HTTPError, resource: HubResource) -> HubUnreachable:
    """Return the error for a failed connection: "timeout", "truncated" or "connection"."""
    # urllib3 raises ProtocolError for a body that ends too early. Before the status line and
    # headers have arrived, requests wraps it in its own ConnectionError.
    reason = "connection"
    if isinstance(error, (Timeout, TimeoutError)):
        reason = "timeout"
    elif isinstance(error, ProtocolError):
        reason = "truncated"
    return HubUnreachable(repo_id=resource.repo_id, reason=reason)


RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 2.0
_MOST_DATE_CHARS = 40
# urllib3's reader of `Retry-After`: whole seconds or a date.
_RETRY = Retry(retry_after_max=10**6)


def retry_after_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the Hub's headers ask to wait, None if they do not."""
    # `Retry-After` is used at any status. The Hub sends `RateLimit` with every response: it is used
    # at status 429 only, and if no request is left, as huggingface_hub does (`_http.py`); another
    # 429 passes sooner.
    value = headers.get("Retry-After", "")
    if value.strip():
        try:
            return _RETRY.parse_retry_after(value[:_MOST_DATE_CHARS])
        except (InvalidHeader, ValueError, OverflowError):
            return None
    parsed = parse_window(headers, now=0.0) if status == 429 else None
    return parsed[1].ends_at if parsed is not None and parsed[1].remaining == 0 else None


def pause_seconds(attempt: int, hint: float | None) -> float:
    """Return the seconds to wait after failed attempt number `attempt` (from 0), with jitter."""
    # `hint` seconds from the Hub's headers are a lower bound; the jitter after them keeps threads
    # from repeating their requests at the same moment.
    backoff = min(_FIRST_PAUSE_SECONDS * 2.0**attempt, _LONGEST_PAUSE_SECONDS)
    jittered = backoff * (0.5 + random.random())
    return jittered if hint is None else hint + jittered * 0.1


_TRANSIENT_REASONS = frozenset({"timeout", "connection", "truncated", "server_error"})
# Seconds without requests to a route after a failure that may pass.
_TRANSIENT_SECONDS = 60.0
# Seconds after a refusal, as by a mirror that lacks the route.
_REFUSED_SECONDS = 600.0


def is_transient(error: ModelUnreadable) -> bool:
    """Whether a retry may succeed later: no response arrived, or the Hub was busy."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] in _TRANSIENT_REASONS
    return isinstance(error, HubRateLimited)


class CircuitBreaker:
    """Stops requests to a route that failed recently. Safe to share between threads."""

    # Mirrors do not have every route of the Hub. Without a circuit breaker, a route that hangs
    # would cost its whole timeout for every model.
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open_until = 0.0

    @property
    def allows_requests(self) -> bool:
        """Whether requests to the route are allowed now."""
        return self._open_until <= self._clock()

    def trip(self, seconds: float) -> None:
        """Allow no requests for `seconds` from now."""
        self._open_until = self._clock() + seconds

    def trip_after(self, error: ModelUnreadable) -> None:
        """Allow no requests for a while after an error of the route."""
        self.trip(_TRANSIENT_SECONDS if is_transient(error) else _REFUSED_SECONDS)
