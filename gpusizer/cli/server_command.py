"""The command `serve`: the page on this machine."""

import argparse
from collections.abc import Callable

from gpusizer.core.errors import InvalidRequest

_PORTS = range(1, 65_536)


def run_serve(
    serve: Callable[[str | None, int | None], None], arguments: argparse.Namespace
) -> None:
    """Run `serve`. Raises InvalidRequest for no port, and without the extra `web`."""
    port = None if arguments.port is None else _port(arguments.port)
    try:
        serve(arguments.host, port)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gpusizer"):
            raise
        raise InvalidRequest(field="serve", value=error.name or "", reason="needs_web") from None


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:6]) not in _PORTS:
        raise InvalidRequest(field="port", value=text[:40], reason="count", most=_PORTS[-1])
    return int(text)
