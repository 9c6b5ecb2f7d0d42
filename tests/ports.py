"""free_port, where a server of a test can listen; whether it does, and wait_for, until then."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from random import SystemRandom

import pytest

_PORTS = range(20_000, 32_000)  #


def free_port() -> int:
    """Return an unused port; Gradio's own search races with other workers' servers."""
    while True:
        port = SystemRandom().choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody listens at a port of an address of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def wait_for(port: int) -> None:
    """Wait until somebody listens at a port of loopback."""
    for _ in range(3000):
        if listens(port):
            return
        time.sleep(0.1)
    pytest.fail(f"nobody listens at {port}")
