"""free_port: where a server of a test can listen."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a port that nobody uses; Gradio's own search races with other workers' servers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
