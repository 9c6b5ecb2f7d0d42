"""free_port, where a server of a test can listen, and wait_for, until it does."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from random import SystemRandom

import pytest

_PORTS = range(20_000, 32_000)
"""Below those that Linux gives to connections, which could take a port before its server does."""


def free_port() -> int:
    """Return a port that nobody uses; Gradio's own search races with other workers' servers."""
    while True:
        port = SystemRandom().choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_for(port: int) -> None:
    """Wait until somebody listens at a port of loopback."""
    for _ in range(3000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens at {port}")
