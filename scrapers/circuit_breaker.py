"""CircuitBreaker: stops requests to a route for a while after it was refused or timed out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpusizer.core.errors import HubRateLimited, HubUnreachable, ModelUnreadable

_TRANSIENT_REASONS = frozenset({"timeout", "connection", "truncated", "server_error"})
_TRANSIENT_SECONDS = 60.0
"""How long a route gets no request after a failure that may pass."""
_REFUSED_SECONDS = 600.0
"""The same after a refusal, as by a mirror that lacks the route."""


def is_hub_unavailable(error: ModelUnreadable) -> bool:
    """Whether the Hub was requested but sent no usable response; false in offline mode."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] != "offline"
    return isinstance(error, HubRateLimited)


def is_transient(error: ModelUnreadable) -> bool:
    """Whether the same request may succeed later: no response arrived, or the Hub was busy."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] in _TRANSIENT_REASONS
    return isinstance(error, HubRateLimited)


class CircuitBreaker:
    """Stops requests to a route that failed recently. Safe to share between threads.

    Mirrors do not have every route of the Hub. Without a circuit breaker, a route that hangs
    would cost its whole timeout for every model.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open_until = 0.0
        self._lock = threading.Lock()

    @property
    def allows_requests(self) -> bool:
        """Whether requests to the route are allowed now."""
        with self._lock:
            return self._open_until <= self._clock()

    def trip(self, seconds: float) -> None:
        """Allow no requests for `seconds` from now."""
        with self._lock:
            self._open_until = self._clock() + seconds

    def trip_after(self, error: ModelUnreadable) -> None:
        """Allow no requests for a while, because the route answered with this error."""
        self.trip(_TRANSIENT_SECONDS if is_transient(error) else _REFUSED_SECONDS)
