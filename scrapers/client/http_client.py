"""HttpClient: a requests session that bounds the time of a whole response.

The read timeout of requests applies to every single wait for bytes, so that a server which sends
one byte now and then never exceeds it
(https://requests.readthedocs.io/en/latest/user/quickstart/#timeouts). The sockets of this session
also check the deadline of the whole response at each read: status line, headers, chunk lengths and
body.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection

from scrapers.client.redirects import Origin, origin_of

# Number of origins whose connections stay in the pool: the Hub and its CDNs.
_HOSTS = 16
# `time.monotonic()` at which reading the response of this thread's request fails.
_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class HttpClient(requests.Session):
    """A session that follows no redirects and sends no credentials of the operator. Thread-safe."""

    def __init__(self, connections: int) -> None:
        # requests reads proxies and certificates from the environment: `HTTPS_PROXY`, `HTTP_PROXY`,
        # `ALL_PROXY`, `NO_PROXY`, `REQUESTS_CA_BUNDLE`. Requests to a loopback address use no
        # proxy. Cookies are not stored, and `~/.netrc` is not read because every request has an
        # auth.
        super().__init__()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        adapter = _DeadlineAdapter(pool_connections=_HOSTS, pool_maxsize=connections)
        self.mount("https://", adapter)
        self.mount("http://", adapter)

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return None, so that requests itself follows no redirect and reads no body."""

    @contextmanager
    def open(
        self, request: requests.PreparedRequest, wait_seconds: tuple[float, float], seconds: float
    ) -> Iterator[requests.Response]:
        """Send a request; yield the response once its headers have arrived, before its body.

        `wait_seconds` are the timeouts of connecting and of each wait for bytes, `seconds` is the
        time for the whole response. Raises requests.RequestException or
        urllib3.exceptions.HTTPError.
        """
        url = request.url or ""
        settings = self.merge_environment_settings(url, {}, True, None, None)
        origin = origin_of(url)
        if origin is not None and origin.is_loopback:
            settings["proxies"] = {}
        reset = _deadline.set(time.monotonic() + seconds)
        try:
            with self.send(
                request, timeout=wait_seconds, allow_redirects=False, **settings
            ) as response:
                yield response
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


def _check_deadline() -> None:
    if time.monotonic() >= _deadline.get():
        raise TimeoutError("the answer has not ended by its deadline")


class _PlainSocket(socket.socket):
    # Reads raise TimeoutError after the deadline.
    def recv_into(self, *arguments: Any) -> int:
        _check_deadline()
        return super().recv_into(*arguments)


class _TlsSocket(ssl.SSLSocket):
    def recv_into(self, *arguments: Any) -> int:
        _check_deadline()
        return super().recv_into(*arguments)


class _PlainConnection(HTTPConnection):
    def connect(self) -> None:
        # Connect, and read from a socket with a deadline from now on.
        super().connect()
        seconds = self.sock.gettimeout()
        self.sock = _PlainSocket(fileno=self.sock.detach())
        self.sock.settimeout(seconds)


@cache
def _tls_context(authorities: str) -> ssl.SSLContext:
    # The context makes _TlsSocket. It is cached: loading certifi's certificates takes 25 ms of
    # processor time, which requests spends on each connection.
    is_folder = Path(authorities).is_dir()
    context = ssl.create_default_context(
        cafile=None if is_folder else authorities, capath=authorities if is_folder else None
    )
    context.sslsocket_class = _TlsSocket
    return context


class _DeadlineAdapter(HTTPAdapter):
    # Connections make these sockets, with and without a proxy. A proxy's own response to CONNECT,
    # and TLS to a proxy, are bounded by each wait alone: the operator has chosen the proxy.
    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> tuple[Any, Any]:
        """Return the attributes that distinguish pools: the host, and for https our context."""
        host, tls = super().build_connection_pool_key_attributes(request, verify, cert)
        if host["scheme"] == "https":
            place = tls.pop("ca_certs", None) or tls.pop("ca_cert_dir", None)
            tls["ssl_context"] = _tls_context(place or DEFAULT_CA_BUNDLE_PATH)
        return host, tls

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Load no certificates: the context has them, and requires one of each host."""

    def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
        """Return the pool of a request; without TLS it makes our connections."""
        pool: Any = super().get_connection_with_tls_context(*arguments, **options)
        if pool.scheme == "http":
            pool.ConnectionCls = _PlainConnection
        return pool
