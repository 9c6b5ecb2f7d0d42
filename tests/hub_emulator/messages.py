"""Request and Answer: the messages between the sockets and the emulated sites."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs

from tests.hub_emulator.files import FakeFile, literal_file

Host = Literal["hub", "cdn"]

NO_BODY = FakeFile(b"", 0)
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request; header names are lower case, `path` is still percent-encoded."""

    method: str
    host: Host
    path: str
    query: str
    headers: dict[str, str]

    @property
    def target(self) -> str:
        """Path and query as they stood in the request line."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def values(self, *names: str) -> list[str]:
        """Every value of these query parameters."""
        parsed = parse_qs(self.query, keep_blank_values=True)
        return [value for name in names for value in parsed.get(name, ())]

    def flag(self, name: str) -> bool:
        """Whether a query parameter is true, as Python and JavaScript clients spell it."""
        return any(value.lower() in ("true", "1") for value in self.values(name))

    def byte_range(self, size: int) -> tuple[int, int] | None:
        """Return the requested first byte and last byte + 1, clipped, or None.

        None without a valid Range header. An empty span means that the range cannot be satisfied.
        """
        match = _RANGE.fullmatch(self.headers.get("range", ""))
        if match is None or match.group() == "bytes=-":
            return None  # RFC 9110 14.2: a Range that is not understood is ignored
        first, last = match.groups()
        if not first:
            return max(size - int(last), 0), size
        return int(first), min(int(last) + 1 if last else size, size)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer: a span of a file, and how it is delivered."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    source: FakeFile = NO_BODY
    start: int = 0
    stop: int = 0
    chunked: bool = False  # send it without a Content-Length
    # how the connection fails instead of answering, if it does
    drop: Literal["", "reset", "hang"] = ""
    stop_after: int | None = None  # close the connection after this many bytes of the body
    piece: int = 2**18  # bytes per write
    delay: float = 0.0  # seconds before every write but the first
    drips: bool = False  # send the head and the chunk lengths in such pieces, too

    @property
    def length(self) -> int:
        """Length of the body."""
        return self.stop - self.start


class AnswerNow(Exception):
    """Raised to answer a request at once with an error or a redirect."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"HTTP {answer.status}")
        self.answer = answer


def text_answer(
    status: int, text: str | bytes, content_type: str, headers: dict[str, str] | None = None
) -> Answer:
    """Return an answer with this body."""
    body = literal_file(text)
    return Answer(status, {"Content-Type": content_type, **(headers or {})}, body, stop=body.size)


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Return an answer in compact JSON."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text_answer(status, text, "application/json; charset=utf-8", headers)


def redirect(status: int, location: str, headers: dict[str, str] | None = None) -> Answer:
    """Return a redirect; the Hub's carry their target as the body too."""
    text = f"{'Found' if status == 302 else 'Temporary Redirect'}. Redirecting to {location}"
    return text_answer(
        status, text, "text/plain; charset=utf-8", {"Location": location, **(headers or {})}
    )
