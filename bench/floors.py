"""Hand-written lower bounds: the same facts with nothing checked, bounded or kept.

Each reads the description, `config.json` and all headers of one known layout, with plain
http.client and one thread per request, in as few round trips as the protocol allows.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Lock
from urllib.parse import urljoin, urlsplit

HEADER_GUESS = 100_000
GGUF_HEADER = 8_000_000
"""A little more than what the emulated GGUF files hold before their tensors."""


class Wire:
    """Kept-alive connections to any host."""

    def __init__(self) -> None:
        self._idle: dict[str, list[HTTPConnection]] = {}
        self._lock = Lock()

    def get(self, url: str, headers: dict[str, str] | None = None) -> bytes:
        """The body at the end of the redirects."""
        while True:
            parts = urlsplit(url)
            with self._lock:
                idle = self._idle.setdefault(parts.netloc, [])
                connection = idle.pop() if idle else HTTPConnection(parts.netloc)
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
            connection.request("GET", target, headers=headers or {})
            response = connection.getresponse()
            body = response.read()
            with self._lock:
                idle.append(connection)
            location = response.headers.get("Location")
            if location is None:
                if response.status >= 400:
                    raise RuntimeError(f"{response.status} for {url}")
                return body
            url = urljoin(url, location)

    def close(self) -> None:
        """Close every connection."""
        for idle in self._idle.values():
            for connection in idle:
                connection.close()


def one_answer(endpoint: str, repo_id: str) -> int:
    """Description, headers route and config.json at once: 4 requests, 2 round trips."""
    wire = Wire()
    with ThreadPoolExecutor(3) as pool:
        info = pool.submit(wire.get, f"{endpoint}/api/models/{repo_id}?blobs=true")
        config = pool.submit(wire.get, f"{endpoint}/{repo_id}/resolve/main/config.json")
        index = "model.safetensors.index.json"
        route = f"{endpoint}/api/models/{repo_id}/safetensors-metadata/{index}"
        headers = json.loads(pool.submit(wire.get, route).result())["headers"]
        json.loads(info.result()), json.loads(config.result())
    wire.close()
    return sum(map(_tensors, headers.values()))


def single_file(endpoint: str, repo_id: str) -> int:
    """Description, config.json and model.safetensors at once: 5 requests, 2 round trips."""
    wire = Wire()
    with ThreadPoolExecutor(3) as pool:
        info = pool.submit(wire.get, f"{endpoint}/api/models/{repo_id}?blobs=true")
        config = pool.submit(wire.get, f"{endpoint}/{repo_id}/resolve/main/config.json")
        header = pool.submit(_header, wire, f"{endpoint}/{repo_id}/resolve/main/model.safetensors")
        json.loads(info.result()), json.loads(config.result())
    wire.close()
    return header.result()


def by_ranges(endpoint: str, repo_id: str) -> int:
    """Description, then config.json and every shard: 3 round trips, 2 requests per shard."""
    wire = Wire()
    info = json.loads(wire.get(f"{endpoint}/api/models/{repo_id}?blobs=true"))
    paths = [file["rfilename"] for file in info["siblings"]]
    shards = [path for path in paths if path.endswith(".safetensors")]
    base = f"{endpoint}/{repo_id}/resolve/v1"
    with ThreadPoolExecutor(len(shards) + 1) as pool:
        config = pool.submit(wire.get, f"{base}/config.json")
        counts = list(pool.map(lambda path: _header(wire, f"{base}/{path}"), shards))
        json.loads(config.result())
    wire.close()
    return sum(counts)


def gguf_file(endpoint: str, repo_id: str) -> int:
    """Description, then the header of one file, told how long it is: 3 round trips."""
    wire = Wire()
    info = json.loads(wire.get(f"{endpoint}/api/models/{repo_id}?blobs=true"))
    path = next(f["rfilename"] for f in info["siblings"] if "Q4_K_M" in f["rfilename"])
    url = f"{endpoint}/{repo_id}/resolve/main/{path}"
    body = wire.get(url, {"Range": f"bytes=0-{GGUF_HEADER - 1}"})
    wire.close()
    return int.from_bytes(body[8:16], "little")


def _header(wire: Wire, url: str) -> int:
    body = wire.get(url, {"Range": f"bytes=0-{HEADER_GUESS - 1}"})
    end = 8 + int.from_bytes(body[:8], "little")
    if end > len(body):
        body += wire.get(url, {"Range": f"bytes={len(body)}-{end - 1}"})
    return _tensors(json.loads(body[8:end]))


def _tensors(header: dict[str, object]) -> int:
    return len(header) - ("__metadata__" in header)
