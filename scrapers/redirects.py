"""Which addresses the Hub may send us to. Pure; never connects."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

HUB_DOMAINS = ("huggingface.co", "hf.co")

_NO_URL_CHARACTER = re.compile(r"[\x00- \x7f\\]")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an address."""

    scheme: str
    host: str
    port: int

    @property
    def place(self) -> str:
        """Host and port; an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def host_header(self) -> str:
        """The place as a request names it: without the port that goes without saying."""
        return self.place.removesuffix(f":{_DEFAULT_PORTS[self.scheme]}")

    @property
    def address(self) -> str:
        """The beginning of its URLs."""
        return f"{self.scheme}://{self.host_header}"

    @property
    def loopback(self) -> int:
        """IP version of a loopback address (4 for `localhost`), 0 for any other host."""
        return _loopback_version(self.host)


@lru_cache(maxsize=64)
def _loopback_version(host: str) -> int:
    if host == "localhost":
        return 4
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return 0
    return address.version if address.is_loopback else 0


@lru_cache(maxsize=512)
def origin_of(url: str) -> Origin | None:
    """Origin of an http(s) URL; None for anything else, and for credentials in the URL."""
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
    """Whether a redirect from `endpoint` to `url` may be followed.

    Allowed are the endpoint's own origin; over https its own host, the host's subdomains,
    and the Hub's domains; the `cdn_origins`; and, for an endpoint on loopback over http
    (an emulator or a local mirror), loopback over http in the same address family. Naming
    `cdn_origins` narrows the last rule to them.
    """
    target, home = origin_of(url), origin_of(endpoint)
    if target is None or home is None:
        return False
    if target == home or target in map(origin_of, cdn_origins):
        return True
    if home.scheme == "http" and home.loopback:
        return not cdn_origins and target.scheme == "http" and target.loopback == home.loopback
    if target.scheme != "https" or target.port not in (443, home.port):
        return False
    return any(
        target.host == domain or target.host.endswith(f".{domain}")
        for domain in (home.host, *HUB_DOMAINS)
    )
