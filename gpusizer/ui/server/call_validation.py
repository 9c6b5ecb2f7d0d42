"""Calls over HTTP with wrong names get an error object instead of "Internal Server Error".

Gradio 6.31 raises TypeError for a parameter that an endpoint does not take or that is missing, and
KeyError for an endpoint that does not exist (`/call/v2` in gradio/routes.py). Its response does not
say which name is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.types import HTTPExceptionHandler

from gpusizer.answers.report import error_json
from gpusizer.core.errors import InvalidRequest
from gpusizer.text import say_error

_PATH = "/gradio_api/call/v2/"
_TOKEN = "oauth_token"
"""A field that Gradio removes from the body before it calls an endpoint."""
_UNPROCESSABLE = 422


class _PythonType(TypedDict):
    type: str


class Parameter(TypedDict):
    """What is read here of a parameter as `Blocks.get_api_info` describes it."""

    parameter_name: str
    parameter_has_default: bool
    parameter_default: NotRequired[object]
    python_type: _PythonType


Endpoints = Mapping[str, Sequence[Parameter]]
"""The parameters of each endpoint by its name."""


def exception_handlers(endpoints: Endpoints) -> dict[type[Exception], HTTPExceptionHandler]:
    """Return handlers for the two exceptions; any other failure stays an internal error."""

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        if _PATH not in request.url.path:
            raise error
        name = str(request.path_params["api_name"])
        refusal = refusal_of(name, await request.json(), endpoints)
        if refusal is None:
            # Another type than TypeError and KeyError: an outer handler of these would read the
            # request's body again.
            raise RuntimeError(f"Gradio could not prepare a call of {name}") from error
        return JSONResponse(error_json(refusal, say_error(refusal)), _UNPROCESSABLE)

    return {TypeError: refuse, KeyError: refuse}


def refusal_of(
    name: str, body: Mapping[str, object], endpoints: Endpoints
) -> InvalidRequest | None:
    """Return the error for the first unknown or missing name in a call, None if all are right."""
    if name not in endpoints:
        return _invalid("endpoint", name, "not_one_of", choices=", ".join(endpoints))
    parameters = {str(parameter["parameter_name"]): parameter for parameter in endpoints[name]}
    for field, value in body.items():
        if field not in parameters and field != _TOKEN:
            return _invalid(field, value, "unknown_field")
    for field, parameter in parameters.items():
        if not parameter["parameter_has_default"] and field not in body:
            return _invalid(field, "", "empty")
    return None


def _invalid(field: str, value: object, reason: str, **more: str) -> InvalidRequest:
    return InvalidRequest(field=field[:40], value=str(value)[:80], reason=reason, **more)
