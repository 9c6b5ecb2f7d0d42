"""Connections: open ones kept for the next request, straight or through the environment's proxy."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapers.answers import BrokenAnswer, HttpAnswer
from scrapers.proxies import Proxy, open_tunnel, proxy_of
from scrapers.redirects import Origin
from scrapers.wire import is_open, receiver, request_head, set_timeout

if TYPE_CHECKING:
    import ssl

# What stands for itself in an address; the rest, which a Location may hold, is escaped.
_PLAIN = "%/:=&?~#+!$,;'@()*[]"
_IDLE_SECONDS = 60.0  # what lies between may have forgotten an older one, and not say so
_TARGET = re.compile(r"[^:]*://[^/?#]*([^#]*)", re.DOTALL)


class Connections:
    """Where answers come from. Safe to share between threads.

    No cookies and no `~/.netrc`: nothing of the operator's is sent. The proxies are those of
    `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; they are spoken to without TLS.
    """

    def __init__(self, idle: int, ca_bundle: str | None) -> None:
        self._most_idle = idle  # of each origin; none once closed
        self._ca_bundle = ca_bundle
        self._idle: dict[Origin, list[tuple[float, socket.socket]]] = {}
        self._proxies: dict[Origin, Proxy | None] = {}
        self._trust: ssl.SSLContext | None = None
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

        Raises BrokenAnswer or OSError.
        """
        head = self._head(url, origin, headers)
        wire = self._kept(origin)
        try:
            if wire is None:
                wire = self._connected(origin, connect_seconds)
            set_timeout(wire, silent_seconds)
            wire.sendall(head)
            used = wire
            return HttpAnswer(
                receiver(used, silent_seconds),
                silent_seconds,
                lambda whole: self._done(origin, used, whole),
            )
        except BaseException:
            if wire is not None:
                wire.close()
            self._forget(origin)
            raise

    def close(self) -> None:
        """Close idle connections, and those in use as soon as they are not."""
        with self._lock:
            self._most_idle = 0
            idle = [kept for of_origin in self._idle.values() for kept in of_origin]
            self._idle.clear()
        _close(idle)

    def __del__(self) -> None:
        self.close()

    def _kept(self, origin: Origin) -> socket.socket | None:
        """The connection used last: the one least likely to have been closed meanwhile."""
        while True:
            with self._lock:
                idle = self._idle.get(origin)
                if not idle:
                    return None
                since, wire = idle.pop()
            if time.monotonic() - since < _IDLE_SECONDS and is_open(wire):
                return wire
            wire.close()

    def _forget(self, origin: Origin) -> None:
        """After a failure a new connection is tried next: others as old may be as dead."""
        with self._lock:
            idle = self._idle.pop(origin, [])
        _close(idle)

    def _done(self, origin: Origin, wire: socket.socket, whole: bool) -> None:
        """Keep a connection whose answer was read to its end, close any other."""
        if whole:
            with self._lock:
                idle = self._idle.setdefault(origin, [])
                if len(idle) < self._most_idle:
                    idle.append((time.monotonic(), wire))
                    return
        wire.close()

    def _connected(self, origin: Origin, seconds: float) -> socket.socket:
        """A new connection, through TLS and a tunnel where they are needed."""
        proxy = self._proxy(origin)
        through = proxy.origin if proxy else origin
        try:
            # As bytes: a string would load what encodes international names.
            host: Any = through.host.encode() if through.host.isascii() else through.host
            wire = socket.create_connection((host, through.port), seconds)
        except UnicodeError as error:  # a host that no name server could be asked for
            raise BrokenAnswer("the address is none") from error
        try:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if origin.scheme == "http":
                return wire
            if proxy is not None:
                open_tunnel(wire, origin, proxy, seconds)
            return self._trusted().wrap_socket(wire, server_hostname=origin.host)
        except BaseException:
            wire.close()
            raise

    def _head(self, url: str, origin: Origin, headers: Mapping[str, str]) -> bytes:
        """The request; a proxy without a tunnel is told the whole address, and who asks."""
        match = _TARGET.match(url if url.isascii() else quote(url, safe=_PLAIN))
        path = match[1] if match else ""
        target = path if path.startswith("/") else f"/{path}"
        proxy = self._proxy(origin) if origin.scheme == "http" else None
        if proxy is not None:
            return request_head(
                "GET", f"{origin.address}{target}", origin, {**headers, **proxy.headers}
            )
        return request_head("GET", target, origin, headers)

    def _proxy(self, origin: Origin) -> Proxy | None:
        """Looked up once: it reads variables. Raises BrokenAnswer for one of another kind."""
        with self._lock:
            if origin not in self._proxies:
                self._proxies[origin] = proxy_of(origin)
            return self._proxies[origin]

    def _trusted(self) -> ssl.SSLContext:
        """Made once: certificates take longer to load than most answers to arrive."""
        with self._lock:
            if self._trust is None:
                self._trust = _trust(self._ca_bundle)
            return self._trust


def _trust(ca_bundle: str | None) -> ssl.SSLContext:
    tls = import_module("ssl")  # with certifi, what only https needs
    context: ssl.SSLContext = tls.create_default_context(
        cafile=ca_bundle or import_module("certifi").where()
    )
    context.set_alpn_protocols(["http/1.1"])
    return context


def _close(idle: Iterable[tuple[float, socket.socket]]) -> None:
    for _, wire in idle:
        wire.close()
