"""free_port, where a server of a test can listen, and wait_for, until it does."""

from __future__ import annotations

import socket
import time

import pytest


def free_port() -> int:
    """Return a port that nobody uses; Gradio's own search races with other workers' servers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for(port: int) -> None:
    """Wait until somebody listens at a port of loopback."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens at {port}")
