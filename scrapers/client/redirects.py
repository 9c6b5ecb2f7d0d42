"""Rules for the redirects of the Hub that are followed. Pure; never connects."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

HUB_DOMAINS = ("huggingface.co", "hf.co")
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})

_NO_URL_CHARACTER = re.compile(r"[\x00- \x7f\\]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine: `localhost` or a loopback address."""
        return _is_loopback(self.host)


@lru_cache(maxsize=64)
def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=512)
def origin_of(url: str) -> Origin | None:
    """Return the origin of an http(s) URL; None for others and for URLs with credentials."""
    if _NO_URL_CHARACTER.search(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not host or "@" in parts.netloc:
        return None
    return Origin(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme])


def is_allowed_target(url: str, endpoint: str, cdn_origins: Collection[str] = ()) -> bool:
    """Whether a redirect from `endpoint` to `url` may be followed."""
    # Allowed are the endpoint's own origin, the `cdn_origins`, and, over https, the endpoint's
    # host, its subdomains and the Hub's domains. An endpoint on loopback over http (an emulator or
    # a local mirror) may redirect only to its own host and port and the `cdn_origins`.
    target, home = origin_of(url), origin_of(endpoint)
    if target is None or home is None:
        return False
    if target == home or target in map(origin_of, cdn_origins):
        return True
    if home.scheme == "http" and home.is_loopback:
        return False
    if target.scheme != "https" or target.port not in (443, home.port):
        return False
    return any(
        target.host == domain or target.host.endswith(f".{domain}")
        for domain in (home.host, *HUB_DOMAINS)
    )


def redirect_target(
    url: str, location: str, endpoint: str, cdn_origins: Collection[str] = ()
) -> str | None:
    """Resolve a `Location` header at `url`; return None if the target is not allowed."""
    try:
        target = urljoin(url, location)
    except ValueError:
        return None
    return target if is_allowed_target(target, endpoint, cdn_origins) else None
