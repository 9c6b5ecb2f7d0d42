"""HttpClient: a requests session that bounds the time of a whole response.

The read timeout of requests applies to every single wait for bytes, so that a server which
sends one byte now and then never exceeds it (https://requests.readthedocs.io/en/latest/user/
quickstart/#timeouts). Here every read from a connection also checks the deadline of the whole
response: status line, headers, chunk lengths and body. requests and urllib3 have no place for such
a check, so that `response_class` and `fp` of http.client, which are not documented, are set.
"""

from __future__ import annotations

import io
import math
import time
from contextvars import ContextVar
from http.client import HTTPResponse
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection

from scrapers.client.redirects import Origin, origin_of

_HOSTS = 16
"""Number of origins whose connections stay in the pool: the Hub and its CDNs."""
_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
"""Value of `time.monotonic()` at which reading the response of this thread's request fails."""


class HttpClient(requests.Session):
    """A session that follows no redirects and sends no credentials of the operator.

    requests reads proxies and certificates from the environment: `HTTPS_PROXY`, `HTTP_PROXY`,
    `ALL_PROXY`, `NO_PROXY`, `REQUESTS_CA_BUNDLE`. Requests to a loopback address use no proxy.
    Cookies are not stored, and `~/.netrc` is not read because every request has an auth.
    Safe to share between threads.
    """

    def __init__(self, connections: int) -> None:
        super().__init__()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        adapter = _DeadlineAdapter(pool_connections=_HOSTS, pool_maxsize=connections)
        self.mount("https://", adapter)
        self.mount("http://", adapter)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return None, so that requests itself follows no redirect and reads no body."""

    def open(
        self, request: requests.PreparedRequest, wait_seconds: tuple[float, float], seconds: float
    ) -> requests.Response:
        """Send a request; return when the response's headers have arrived, before its body.

        `wait_seconds` are the timeouts of connecting and of each wait for bytes, `seconds` is the
        time for the whole response.
        Raises requests.RequestException or urllib3.exceptions.HTTPError.
        """
        url = request.url or ""
        settings = self.merge_environment_settings(url, {}, True, None, None)
        origin = origin_of(url)
        if origin is not None and origin.is_loopback:
            settings["proxies"] = {}
        reset = _deadline.set(time.monotonic() + seconds)
        try:
            return self.send(request, timeout=wait_seconds, allow_redirects=False, **settings)
        finally:
            _deadline.reset(reset)


class EndpointAuth(AuthBase):
    """Adds a visitor's token to requests to the endpoint's own origin, and to no others."""

    def __init__(self, token: str | None, endpoint: Origin | None) -> None:
        self._token = token
        self._endpoint = endpoint

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # URLs of the CDN are signed; only the Hub may receive the token.
        if self._token and origin_of(request.url or "") == self._endpoint:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _DeadlineStream(io.RawIOBase):
    """The byte stream of a connection; reading it after the deadline raises TimeoutError."""

    def __init__(self, stream: io.RawIOBase, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if time.monotonic() >= self._deadline:
            raise TimeoutError("the answer has not ended by its deadline")
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _DeadlineResponse(HTTPResponse):
    """http.client's response; reading headers or body after the deadline raises TimeoutError."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fp = io.BufferedReader(_DeadlineStream(self.fp.detach(), _deadline.get()))


class _DeadlineConnection(HTTPConnection):
    response_class = _DeadlineResponse


class _DeadlineTlsConnection(HTTPSConnection):
    response_class = _DeadlineResponse


_CONNECTIONS = {"http": _DeadlineConnection, "https": _DeadlineTlsConnection}


class _DeadlineAdapter(HTTPAdapter):
    """requests' adapter whose pools, with and without a proxy, make these connections."""

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        pool.ConnectionCls = _CONNECTIONS[pool.scheme]
        return pool
