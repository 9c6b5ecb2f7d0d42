"""RateLimitTracker: the anonymous requests that the Hub still answers in the present window.

Every response of the Hub has `RateLimit: "api";r=499;t=295` (requests left, seconds to the end of
the window) and `RateLimit-Policy: "fixed window";"api";q=500;w=300` (requests in a window, its
seconds), as in draft-ietf-httpapi-ratelimit-headers and
https://huggingface.co/docs/hub/rate-limits. Requests with a token count against that token and are
not noted here.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gpusizer.core.errors import HubRateLimited
from scrapers.client.redirects import origin_of

# Takes the kind of a request and the status of its response, None without a response.
OnCall = Callable[[str, int | None], None]


def ignore_call(kind: str, status: int | None) -> None:
    """Ignore a request."""


def kind_of(url: str, endpoint: str) -> str:
    """Return the allowance that a request counts against: "api", "resolver" for files, or "cdn".

    The Hub limits requests to its API and to its files apart, those to its CDN not at all
    (docs/hub/rate-limits). `/api/resolve-cache/`, where small files lie, is a resolver as well.

    >>> kind_of("https://huggingface.co/api/models/a/b?blobs=true", "https://huggingface.co")
    'api'
    """
    # The Hub limits requests to its API and to its files separately, those to its CDN not at all
    # (docs/hub/rate-limits). `/api/resolve-cache/`, with small files, is a resolver too.
    if origin_of(url) != origin_of(endpoint):
        return "cdn"
    below = urlsplit(url).path.removeprefix(urlsplit(endpoint).path)
    is_api = below.startswith("/api/") and not below.startswith("/api/resolve-cache/")
    return "api" if is_api else "resolver"


# The Hub's names of its allowances, and those of `kind_of`.
_KINDS = {"api": "api", "resolvers": "resolver"}
# Share of an allowance that is reserved for models that were never read.
_LOW_SHARE = 0.1
# Responses whose windows end closer together are of one window: `t` has whole seconds, and a
# response may have travelled for some of them.
_SAME_WINDOW_SECONDS = 30.0
# Longest window that is believed; the Hub's have 5 minutes.
_LONGEST_SECONDS = 3600

_ENTRY = re.compile(r'"(?P<name>[a-z]{1,20})"\s*;(?P<parameters>[^"]{0,80})')
_PARAMETER = re.compile(r"(?:^|;)\s*([a-z])=(\d{1,6})(?=$|[;,\s])")


@dataclass(frozen=True, slots=True)
class Window:
    """One allowance until it is renewed."""

    remaining: int  # requests that are left
    quota: int | None  # requests in the whole window; None where the Hub did not say
    ends_at: float  # time of its end, in seconds since 1970

    def with_later(self, later: Window) -> Window:
        """Return the window after another response; equal windows keep the fewer requests."""
        is_same = abs(later.ends_at - self.ends_at) < _SAME_WINDOW_SECONDS
        return self if is_same and self.remaining < later.remaining else later

    @property
    def is_low(self) -> bool:
        """Whether at most a tenth is left."""
        return self.remaining <= (self.quota or 0) * _LOW_SHARE


def parse_window(headers: Mapping[str, str], now: float) -> tuple[str, Window] | None:
    """Return the kind and window of the allowance in a response's headers, None without one.

    >>> headers = {"RateLimit": '"api";r=7;t=60', "RateLimit-Policy": '"fixed";"api";q=500;w=300'}
    >>> parse_window(headers, 1000.0)
    ('api', Window(remaining=7, quota=500, ends_at=1060.0))
    """
    for entry in _ENTRY.finditer(headers.get("RateLimit", "")):
        numbers = dict(_PARAMETER.findall(entry["parameters"]))
        if entry["name"] in _KINDS and {"r", "t"} <= numbers.keys():
            policies = _ENTRY.finditer(headers.get("RateLimit-Policy", ""))
            policy = next((text for text in policies if text["name"] == entry["name"]), None)
            quota = dict(_PARAMETER.findall(policy["parameters"])).get("q") if policy else None
            seconds = min(int(numbers["t"]), _LONGEST_SECONDS)
            window = Window(int(numbers["r"]), int(quota) if quota else None, now + seconds)
            return _KINDS[entry["name"]], window
    return None


class RateLimitTracker:
    """Anonymous allowances of this address, from the responses to this process. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._windows: dict[str, Window] = {}
        self._lock = threading.Lock()

    def note(self, headers: Mapping[str, str]) -> None:
        """Note the headers of a response to an anonymous request."""
        parsed = parse_window(headers, self._clock())
        if parsed is None:
            return
        kind, window = parsed
        with self._lock:
            before = self._windows.get(kind)
            self._windows[kind] = window if before is None else before.with_later(window)

    def is_low(self, kind: str) -> bool:
        """Whether the rest of an allowance should be saved for models that were never read."""
        window = self._window(kind)
        return window is not None and window.is_low

    def low_seconds(self) -> float:
        """Return the seconds until no allowance is low, 0 if none is."""
        windows = [self._window(kind) for kind in _KINDS.values()]
        ends = [window.ends_at for window in windows if window is not None and window.is_low]
        return max(ends) - self._clock() if ends else 0.0

    def check(self, kind: str, repo_id: str) -> None:
        """Raise HubRateLimited if no request is left: the Hub would refuse it."""
        window = self._window(kind)
        if window is not None and window.remaining <= 0:
            seconds = window.ends_at - self._clock()
            raise HubRateLimited(repo_id=repo_id, retry_after_seconds=seconds)

    def _window(self, kind: str) -> Window | None:
        with self._lock:
            window = self._windows.get(kind)
        return window if window is not None and window.ends_at > self._clock() else None
