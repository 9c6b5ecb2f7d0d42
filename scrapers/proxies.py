"""The environment's proxies: which one leads to an origin, and the tunnel through it."""

from __future__ import annotations

import os
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from urllib.parse import unquote

from scrapers.answers import BrokenAnswer, HttpAnswer
from scrapers.redirects import Origin, origin_of
from scrapers.wire import receiver, request_head

_VARIABLES = {"http_proxy", "https_proxy", "all_proxy"}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the headers that open it."""

    origin: Origin
    headers: Mapping[str, str] = field(repr=False)


def proxy_of(origin: Origin) -> Proxy | None:
    """The proxy that the environment names for an origin; None on loopback.

    Raises BrokenAnswer for one of another kind than http.
    """
    if not _VARIABLES & {name.lower() for name in os.environ}:
        return None
    requests = import_module("urllib.request")  # takes a while to load, and seldom matters
    proxies = requests.getproxies_environment()
    named: str = proxies.get(origin.scheme) or proxies.get("all") or ""
    if not named or origin.loopback or requests.proxy_bypass(origin.host):
        return None
    return _read(named if "://" in named else f"http://{named}")


def open_tunnel(wire: socket.socket, origin: Origin, proxy: Proxy, seconds: float) -> None:
    """Have a proxy hand on what is sent, bytes for bytes. Raises BrokenAnswer or OSError."""
    wire.sendall(request_head("CONNECT", origin.place, origin, proxy.headers))
    answer = HttpAnswer(receiver(wire, seconds), seconds, lambda whole: None)
    answer.close()
    if not 200 <= answer.status < 300:
        raise BrokenAnswer(f"the proxy opens no tunnel: {answer.status}")


def _read(address: str) -> Proxy:
    scheme, _, place = address.partition("://")
    login, _, host = place.rpartition("@")
    origin = origin_of(f"{scheme}://{host}")
    if origin is None or origin.scheme != "http":
        raise BrokenAnswer("the proxy's address is not one of http")
    basic = b64encode(unquote(login).encode()).decode()
    return Proxy(origin, {"Proxy-Authorization": f"Basic {basic}"} if login else {})
