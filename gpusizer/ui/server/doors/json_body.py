"""A request's body: read as a whole, checked to be usable JSON, and replayed.

Python's `json`, which Gradio and the library mcp read with, accepts `NaN` and endless numbers,
which it then cannot write into an answer, and nests as deeply as its stack allows.
"""

from __future__ import annotations

from pydantic_core import from_json
from starlette.types import Message, Receive

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.loose_values import JsonValue

_MAX_DEPTH = 32  # levels of lists and objects: a call has three, a request of MCP five
_MAX_VALUES = 20_000  # values in all: a call has some fifty
_MAX_NUMBER = 2**63  # no field takes a larger one, and readers of JSON differ about those

BODY_BYTES = "gpusizer.body_bytes"  # key of a request's scope for the size of its body


async def whole_body(receive: Receive) -> bytes | None:
    """Return all of a body, or None if the caller leaves or is refused before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def replaying(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives this body, then messages of `receive`."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay


def read_json(body: bytes) -> JsonValue:
    """Return the value of a body. Raises InvalidRequest without any content of the body."""
    try:
        value: JsonValue = from_json(body, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        reason = "too_deep" if "recursion limit" in str(error) else "not_json"
        raise _refusal(reason) from None
    _check(value)
    return value


def _check(value: JsonValue) -> None:
    # Raises InvalidRequest for too many values or levels, and for numbers that JSON's readers
    # differ about.
    level, count = [value], 0
    for _ in range(_MAX_DEPTH + 1):
        count += len(level)
        if count > _MAX_VALUES:
            raise _refusal("too_long")
        below: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
            elif isinstance(item, int | float) and not abs(item) < _MAX_NUMBER:
                raise _refusal("not_json")
        if not below:
            return
        level = below
    raise _refusal("too_deep")


def _refusal(reason: str) -> InvalidRequest:
    return InvalidRequest(field="body", value="", reason=reason)
