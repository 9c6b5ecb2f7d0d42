"""Faults: answers that go wrong on purpose."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from tests.hub_emulator.files import literal_file
from tests.hub_emulator.messages import Answer, Host, Request, redirect, text_answer

Respond = Callable[[Request], Answer]


@dataclass
class Fault:
    """One way for matching requests to fail."""

    kind: str  # a key of `KINDS`
    # regular expression searched in the decoded path, or a function of that path
    match: str | Callable[[str], bool] = ""
    host: Host | None = None  # "hub" or "cdn"; None for both
    times: int | None = None  # how often it happens; None for always
    skip: int = 0  # how many matching requests are answered properly first
    status: int = 0  # for "status", and for "garbage" when not 0; "redirect_to" uses 302 by default
    headers: dict[str, str] = field(default_factory=dict)  # added to the answer
    # for "status", "garbage", "drip" and "redirect_to" in place of the proper one
    body: bytes = b""
    # for "change", which leaves redirects as they are: from the proper body to another
    change: Callable[[bytes], bytes] = bytes
    location: str = ""  # for "redirect_to"
    after: int = 0  # bytes of the body sent before "truncate" closes the connection
    piece: int = 16  # bytes that "slow" and "drip" send at a time
    delay: float = 0.05  # seconds that they wait between them
    happened: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"fault kind {self.kind!r}; known: {', '.join(KINDS)}")

    def concerns(self, request: Request) -> bool:
        """Whether the request is one this fault is about."""
        if self.host not in (None, request.host):
            return False
        path = unquote(request.path)
        if callable(self.match):
            return self.match(path)
        return re.search(self.match, path) is not None


class Faults:
    """The faults in force; the first that concerns a request and is not used up happens."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        """Put a fault in force."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Answer everything properly again."""
        with self._lock:
            self._faults.clear()

    def respond(self, request: Request, respond: Respond) -> Answer:
        """Return the correct response, or the one that a fault replaces it with."""
        fault = self._next(request)
        if fault is None:
            return respond(request)
        answer = KINDS[fault.kind](fault, request, respond)
        return replace(answer, headers=answer.headers | fault.headers)

    def _next(self, request: Request) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if not fault.concerns(request):
                    continue
                if fault.skip:
                    fault.skip -= 1
                elif fault.times is None or fault.happened < fault.times:
                    fault.happened += 1
                    return fault
        return None


def _status(fault: Fault, request: Request, respond: Respond) -> Answer:
    return text_answer(fault.status or 503, fault.body, "text/plain; charset=utf-8")


def _garbage(fault: Fault, request: Request, respond: Respond) -> Answer:
    proper = respond(_without(request, "accept-encoding"))  # else the garbage would not be gzip
    garbage = text_answer(fault.status or proper.status, fault.body, "application/octet-stream")
    return replace(garbage, headers=proper.headers)


def _change(fault: Fault, request: Request, respond: Respond) -> Answer:
    proper = respond(_without(request, "accept-encoding"))
    if proper.status >= 300:
        return proper
    body = literal_file(fault.change(proper.source.read(proper.start, proper.stop)))
    return replace(proper, source=body, start=0, stop=body.size)


def _drip(fault: Fault, request: Request, respond: Respond) -> Answer:
    answer = respond(request)
    if fault.body:
        answer = text_answer(200, fault.body, "application/octet-stream")
    return replace(answer, drips=True, piece=fault.piece, delay=fault.delay)


def _redirect(fault: Fault, request: Request, respond: Respond) -> Answer:
    answer = redirect(fault.status or 302, fault.location)
    if fault.body:
        body = literal_file(fault.body)
        answer = replace(answer, source=body, stop=body.size)
    return answer


def _ignore_range(fault: Fault, request: Request, respond: Respond) -> Answer:
    return respond(_without(request, "range"))


def _without(request: Request, header: str) -> Request:
    headers = {name: value for name, value in request.headers.items() if name != header}
    return replace(request, headers=headers)


KINDS: dict[str, Callable[[Fault, Request, Respond], Answer]] = {
    "status": _status,
    "reset": lambda fault, request, respond: Answer(0, drop="reset"),
    "hang": lambda fault, request, respond: Answer(0, drop="hang"),
    "truncate": lambda fault, request, respond: replace(respond(request), stop_after=fault.after),
    "slow": lambda fault, request, respond: replace(
        respond(request), piece=fault.piece, delay=fault.delay
    ),
    "ignore_range": _ignore_range,
    "drip": _drip,
    "redirect_to": _redirect,
    "garbage": _garbage,
    "change": _change,
}
