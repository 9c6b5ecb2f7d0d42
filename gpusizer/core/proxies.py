"""Proxies of the environment, hidden from code that must not use them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLES = ("all_proxy", "http_proxy", "https_proxy")


@contextmanager
def without_proxies() -> Iterator[None]:
    """Hide the variables that name proxies from this process until the context is left."""
    # Gradio calls its own server with httpx, which would send a local address to a proxy. For a
    # SOCKS proxy httpx raises ImportError as soon as Gradio is imported.
    hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.lower() in _VARIABLES}
    try:
        yield
    finally:
        os.environ.update(hidden)
