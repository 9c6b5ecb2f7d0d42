"""Repositories of the emulated Hub, and plain HTTP requests to it."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from tests.hub_emulator import (
    HubEmulator,
)

GIB = 2**30
TOKEN = "hf_reader"
SINGLE, SHARDED, BIG = "org/single", "org/sharded", "org/big"
CONFIG = f"/{SINGLE}/resolve/main/config.json"
WEIGHTS = f"/{BIG}/resolve/main/model.safetensors"
TENSORS = {
    "b.weight": ("BF16", (4, 3)),
    "a.weight": ("F32", (2,)),
    "é.scale": ("F8_E8M0", (5,)),
    "packed": ("F4", (2, 4)),
    "scalar": ("I64", ()),
    "empty": ("F16", (0, 7)),
    'quo"te': ("F8_E4M3", (1,)),
    "mask": ("BOOL", (1,)),
}


def fetch(
    endpoint: str, target: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, lower-case headers and body of one request on a connection of its own."""
    parts = urlsplit(target if target.startswith("http") else endpoint + target)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return response.status, names, response.read()
    finally:
        connection.close()


def follow(hub: HubEmulator, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """The answer after one redirect."""
    _, first, _ = fetch(hub.endpoint, path)
    return fetch(hub.endpoint, first["location"], **headers)
