"""Connections: open ones kept for the next request, straight or through the environment's proxy."""

from __future__ import annotations

import os
import selectors
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib import import_module
from urllib.parse import quote, unquote, urlsplit

from scrapers.answers import HttpAnswer
from scrapers.redirects import Origin, origin_of

# What stands for itself in an address; the rest, which a Location may hold, is escaped.
_PLAIN = "%/:=&?~#+!$,;'@()*[]"
_PROXY_VARIABLES = {"http_proxy", "https_proxy", "all_proxy"}
_IDLE_SECONDS = 60.0  # what lies between may have forgotten an older one, and not say so
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Connections:
    """Where answers come from. Safe to share between threads.

    No cookies and no `~/.netrc`: nothing of the operator's is sent. The proxies are those of
    `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; they are spoken to without TLS.
    """

    def __init__(self, idle: int, ca_bundle: str | None) -> None:
        self._most_idle = idle  # of each origin; none once closed
        self._ca_bundle = ca_bundle
        self._idle: dict[Origin, list[tuple[float, HTTPConnection]]] = {}
        self._proxies: dict[Origin, _Proxy | None] = {}
        self._lock = threading.Lock()

    def get(
        self,
        url: str,
        origin: Origin,
        headers: Mapping[str, str],
        connect_seconds: float,
        silent_seconds: float,
    ) -> HttpAnswer:
        """Ask for a URL of `origin`; the answer's head has arrived, its body has not.

        Raises HTTPException or OSError.
        """
        connection = self._kept(origin) or self._new(origin)
        try:
            if connection.sock is None:
                connection.timeout = connect_seconds
                connection.connect()
            connection.sock.settimeout(silent_seconds)
            target, sent = self._asked(url, origin, headers)
            connection.request("GET", target, headers=sent)
            response = connection.getresponse()
        except BaseException as error:
            connection.close()
            self._forget(origin)
            if isinstance(error, UnicodeError):  # a host that no name server could be asked for
                raise HTTPException("the address is none") from error
            raise
        return HttpAnswer(response, lambda whole: self._done(origin, connection, whole))

    def close(self) -> None:
        """Close idle connections, and those in use as soon as they are not."""
        with self._lock:
            self._most_idle = 0
            idle = [kept for of_origin in self._idle.values() for kept in of_origin]
            self._idle.clear()
        _close(idle)

    def __del__(self) -> None:
        self.close()

    def _kept(self, origin: Origin) -> HTTPConnection | None:
        """The connection used last: the one least likely to have been closed meanwhile."""
        while True:
            with self._lock:
                idle = self._idle.get(origin)
                since, connection = idle.pop() if idle else (0.0, None)
            if connection is None:
                return None
            if time.monotonic() - since < _IDLE_SECONDS and _is_open(connection):
                return connection
            connection.close()

    def _forget(self, origin: Origin) -> None:
        """After a failure a new connection is tried next: others as old may be as dead."""
        with self._lock:
            idle = self._idle.pop(origin, [])
        _close(idle)

    def _done(self, origin: Origin, connection: HTTPConnection, whole: bool) -> None:
        """Keep a connection whose answer was read to its end, close any other."""
        if whole and connection.sock is not None:
            with self._lock:
                idle = self._idle.setdefault(origin, [])
                if len(idle) < self._most_idle:
                    idle.append((time.monotonic(), connection))
                    return
        connection.close()

    def _new(self, origin: Origin) -> HTTPConnection:
        proxy = self._proxy(origin)
        through = proxy.origin if proxy else origin
        if origin.scheme == "http":
            return HTTPConnection(through.host, through.port)
        connection = HTTPSConnection(through.host, through.port, context=self._trust)
        if proxy is not None:
            connection.set_tunnel(origin.host, origin.port, dict(proxy.headers))
        return connection

    def _asked(
        self, url: str, origin: Origin, headers: Mapping[str, str]
    ) -> tuple[str, dict[str, str]]:
        """Target and headers: a proxy without a tunnel is told the whole address, and who asks."""
        parts = urlsplit(url if url.isascii() else quote(url, safe=_PLAIN))
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        proxy = self._proxy(origin) if origin.scheme == "http" else None
        if proxy is None:
            return path, dict(headers)
        return f"{parts.scheme}://{parts.netloc}{path}", {**headers, **proxy.headers}

    def _proxy(self, origin: Origin) -> _Proxy | None:
        """Looked up once: it reads variables. Raises HTTPException for one of another kind."""
        with self._lock:
            if origin not in self._proxies:
                named = proxy_of(origin)
                self._proxies[origin] = None if named is None else _read_proxy(named)
            return self._proxies[origin]

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Made once: certificates take longer to load than most answers to arrive."""
        trusted = self._ca_bundle or import_module("certifi").where()
        context = ssl.create_default_context(cafile=trusted)
        context.set_alpn_protocols(["http/1.1"])
        return context


@dataclass(frozen=True, slots=True)
class _Proxy:
    """A proxy, and the headers that open it."""

    origin: Origin
    headers: Mapping[str, str] = field(repr=False)


def _read_proxy(address: str) -> _Proxy:
    scheme, _, place = address.partition("://")
    login, _, host = place.rpartition("@")
    origin = origin_of(f"{scheme}://{host}")
    if origin is None or origin.scheme != "http":
        raise HTTPException("the proxy's address is not one of http")
    basic = b64encode(unquote(login).encode()).decode()
    return _Proxy(origin, {"Proxy-Authorization": f"Basic {basic}"} if login else {})


def proxy_of(origin: Origin) -> str | None:
    """Address of the proxy that the environment names for an origin; None on loopback."""
    if not _PROXY_VARIABLES & {name.lower() for name in os.environ}:
        return None
    requests = import_module("urllib.request")  # takes a while to load, and seldom matters
    proxies = requests.getproxies_environment()
    proxy: str = proxies.get(origin.scheme) or proxies.get("all") or ""
    if not proxy or origin.loopback or requests.proxy_bypass(origin.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _close(idle: Iterable[tuple[float, HTTPConnection]]) -> None:
    for _, connection in idle:
        connection.close()


def _is_open(connection: HTTPConnection) -> bool:
    """Whether an idle connection is as it was left: what can be read from it is its end."""
    with suppress(OSError, ValueError), _Selector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(0)
    return False
