"""Calls by HTTP that cannot be made: an error object, not Gradio's "Internal Server Error"."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.errors import InvalidRequest
from gpusizer.report import error_json
from gpusizer.text import say_error
from gpusizer.ui.asgi import path_of

_PREFIX = "/gradio_api/call/v2/"
_UNNAMED = frozenset({"self", "token"})  # what no caller gives
_PASSED_BY = "oauth_token"  # taken out of the body by Gradio itself
_LONGEST = 1_000_000  # bytes that are looked at
_UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Parameters:
    """Names that an endpoint takes, and those that it needs."""

    known: frozenset[str]
    needed: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Parameters:
        """Read from a signature."""
        named = inspect.signature(function).parameters.values()
        given = [one for one in named if one.name not in _UNNAMED]
        needed = (one.name for one in given if one.default is inspect.Parameter.empty)
        return cls(frozenset(one.name for one in given), tuple(needed))

    def check(self, body: Mapping[str, Any]) -> None:
        """Raises InvalidRequest for the first name that is unknown or missing."""
        for name, value in body.items():
            if name not in self.known and name != _PASSED_BY:
                raise _invalid(name, value, "unknown_field")
        for name in self.needed:
            if name not in body:
                raise _invalid(name, "", "empty")


class Calls:
    """ASGI middleware: looks at the names in a call's body before Gradio does.

    Gradio 6.31 raises TypeError for a name that the endpoint does not take or that is missing, and
    KeyError for an endpoint that is not there (gradio/routes.py, `/call/v2`); a caller is told
    nothing of either.
    """

    def __init__(self, app: ASGIApp, endpoints: Iterable[Callable[..., Any]]) -> None:
        self._app = app
        self._endpoints = {one.__name__: Parameters.of(one) for one in endpoints}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call that cannot be made; anything else is Gradio's, its body unread."""
        name = _called(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        read = await _read(receive)

        async def again() -> Message:
            return read.pop(0) if read else await receive()

        try:
            self._check(name, _body(read))
        except InvalidRequest as error:
            answer = JSONResponse(error_json(error, say_error(error)), _UNPROCESSABLE)
            await answer(scope, receive, send)
        else:
            await self._app(scope, again, send)

    def _check(self, name: str, body: object) -> None:
        if name not in self._endpoints:
            choices = ", ".join(self._endpoints)
            raise _invalid("endpoint", name, "not_one_of", choices=choices)
        if isinstance(body, dict):
            self._endpoints[name].check(body)


def _called(scope: Scope) -> str | None:
    """Name of the endpoint of a call, None for any other request."""
    path = path_of(scope, "POST")
    return path.removeprefix(_PREFIX).rstrip("/") if path.startswith(_PREFIX) else None


async def _read(receive: Receive) -> list[Message]:
    """The body's messages, as far as they are looked at."""
    read: list[Message] = []
    size = 0
    while size <= _LONGEST:
        message = await receive()
        read.append(message)
        size += len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return read


def _body(read: list[Message]) -> object:
    """What was sent, None where that is no JSON or too much: Gradio says so itself."""
    if read[-1].get("more_body", False):
        return None
    try:
        body: object = json.loads(b"".join(message.get("body", b"") for message in read))
    except (ValueError, RecursionError):
        return None
    return body


def _invalid(field: str, value: object, reason: str, **more: str) -> InvalidRequest:
    return InvalidRequest(field=field[:40], value=str(value)[:80], reason=reason, **more)
