"""Connections: pools of open connections, one for each proxy the environment names."""

from __future__ import annotations

import threading
import urllib.request
from typing import Any

import certifi
import urllib3

from scrapers.redirects import Origin


class Connections:
    """Where connections to an origin come from. Safe to share between threads.

    urllib3 keeps no cookies and reads no `~/.netrc`, so that nothing of the operator's is
    sent. The proxies are those of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    """

    def __init__(self, parallel_reads: int, ca_bundle: str | None) -> None:
        self._options: dict[str, Any] = {
            "num_pools": 16,
            "maxsize": parallel_reads,
            "ca_certs": ca_bundle or certifi.where(),
        }
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._proxies: dict[Origin, str | None] = {}
        self._lock = threading.Lock()

    def to(self, origin: Origin) -> urllib3.PoolManager:
        """Connections to this origin."""
        with self._lock:
            if origin not in self._proxies:
                self._proxies[origin] = proxy_of(origin)  # looked up once: it reads variables
            proxy = self._proxies[origin]
            if proxy not in self._managers:
                self._managers[proxy] = (
                    urllib3.PoolManager(**self._options)
                    if proxy is None
                    else urllib3.ProxyManager(proxy, **self._options)
                )
            return self._managers[proxy]

    def close(self) -> None:
        """Close idle connections."""
        for manager in self._managers.values():
            manager.clear()


def proxy_of(origin: Origin) -> str | None:
    """Address of the proxy that the environment names for an origin; None on loopback."""
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(origin.scheme) or proxies.get("all")
    if not proxy or origin.loopback or urllib.request.proxy_bypass(origin.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
