"""Visitor of a request for the limits: a signed-in user, else an address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

FORWARDED_FOR = "x-forwarded-for"
_MAX_FORWARDED_CHARS = 2_000

# bits of an IPv6 address that name a network: its 2^64 addresses usually are one customer's (RFC
# 6177)
_IPV6_PREFIX = 64
_UNKNOWN = "unknown"


def visitor_of(scope: Scope, trusted_proxies: int) -> str:
    """Return the visitor of a request: "user …" by a signed session, else "address …"."""
    user = _signed_in_user(scope)
    if user is not None:
        return f"user {user}"
    return f"address {network_of(_address_of(scope, trusted_proxies))}"


def network_of(address: str) -> str:
    """Return an IPv4 address, the /64 network of an IPv6 address, or "unknown".

    >>> network_of("203.0.113.7:5000"), network_of("[2001:db8:1:2:3::4]:443")
    ('203.0.113.7', '2001:db8:1:2::/64')
    >>> network_of("::ffff:203.0.113.7"), network_of("not an address")
    ('203.0.113.7', 'unknown')
    """
    parsed = _parse(address.strip())
    if parsed is None:
        return _UNKNOWN
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((int(parsed), _IPV6_PREFIX), strict=False))
    return str(parsed)


def _signed_in_user(scope: Scope) -> str | None:
    # The Hub's name for the user of a session, whose cookie is signed with the Space's secret. A
    # token proves nothing before the Hub has seen it, so it identifies no user here.
    session = scope.get("session")
    info = session.get("oauth_info") if isinstance(session, dict) else None
    user_info = info.get("userinfo") if isinstance(info, dict) else None
    user = user_info.get("sub") if isinstance(user_info, dict) else None
    return user if isinstance(user, str) and user else None


def _address_of(scope: Scope, trusted_proxies: int) -> str:
    # The address that the outermost trusted proxy saw, else that of the connection. Each proxy adds
    # the address of its caller to the right of X-Forwarded-For. Entries left of our own proxies'
    # were written by the caller and prove nothing.
    client = scope.get("client")
    peer = client[0] if client else ""
    if not trusted_proxies:
        return peer
    lines = Headers(scope=scope).getlist(FORWARDED_FOR)
    entries = [entry for entry in ",".join(lines)[-_MAX_FORWARDED_CHARS:].split(",") if entry]
    # A request that passed through fewer proxies has fewer entries: all are of proxies then.
    return entries[max(-trusted_proxies, -len(entries))] if entries else peer


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    # With or without a port or a zone.
    if address.startswith("["):
        address = address[1:].partition("]")[0]
    elif address.count(":") == 1:
        address = address.partition(":")[0]
    try:
        return ip_address(address.partition("%")[0])
    except ValueError:
        return None
