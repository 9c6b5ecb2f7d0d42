"""One connection: the head of a request, what arrives, and whether it is still open."""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

from scrapers.answers import BrokenAnswer, Receive
from scrapers.redirects import Origin

_NO_LINE = re.compile(r"[^\x20-\x7e]")  # what would end a line of the head, and begin another


def request_head(method: str, target: str, origin: Origin, headers: Mapping[str, str]) -> bytes:
    """A whole request, as none of ours has a body.

    Raises BrokenAnswer where a part of it would be read as more than that part.
    """
    lines = [f"{method} {target} HTTP/1.1", f"Host: {origin.host_header}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if " " in target or _NO_LINE.search("".join(lines)):
        raise BrokenAnswer("the request cannot be written")
    return "\r\n".join([*lines, "\r\n"]).encode("ascii")


def set_timeout(wire: socket.socket, seconds: float) -> None:
    """Longest wait of each step; saying it again would be a system call."""
    if wire.gettimeout() != seconds:
        wire.settimeout(seconds)


def receiver(wire: socket.socket, seconds: float) -> Receive:
    """What arrives on a connection whose steps may take so long, alone and up to a moment."""

    def receive(size: int, until: float) -> bytes:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("too slow")
        # Begun in time, a step may end a little later: seldom worth a system call.
        set_timeout(wire, seconds if left > seconds / 2 else left)
        return wire.recv(size)

    return receive


def is_open(wire: socket.socket) -> bool:
    """Whether an idle connection is as it was left: what can be read from it is its end."""
    with suppress(OSError, ValueError):
        if not hasattr(select, "poll"):  # on Windows
            return not select.select([wire], [], [], 0)[0]
        poll = select.poll()
        poll.register(wire, select.POLLIN)
        return not poll.poll(0)
    return False
