"""Checks of calls over HTTP, so that Gradio receives only calls that it can take.

Others get an error object instead of "Internal Server Error" and a traceback in the log. Gradio
6.31 looks functions up by any given number or name, writes unreadable input into its answer and, of
a token, into the log (gradio/routes.py), and lists the values of a call with too few in the log
(`validate_inputs` in gradio/blocks.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import gradio as gr

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.loose_values import JsonObject, list_in
from gpusizer.core.tokens import check_token
from gpusizer.core.validation import fail

TOKEN = "oauth_token"  # field that Gradio removes from a call's body before it calls an endpoint
_BY_NAMES = "call/v2/"
_MAX_NAME_CHARS = 128  # of sessions and events: clients draw some 10 to 40 characters at random

# type of a body's field, and the reason to refuse another
_KINDS: Mapping[str, tuple[type, str]] = {
    "session_hash": (str, "not_text"),
    "event_id": (str, "not_text"),
    "fn_index": (int, "not_an_integer"),
    "trigger_id": (int, "not_an_integer"),
    "data": (list, "not_a_list"),
    "simple_format": (bool, "not_a_boolean"),
}

# fields that a body needs, by route
_NEEDED: Mapping[str, Sequence[str]] = {
    "queue/join": ("session_hash", "fn_index", "data"),
    "call": ("data",),
    "cancel": ("session_hash", "fn_index", "event_id"),
    "reset": ("event_id",),
}


class _PythonType(TypedDict):
    type: str


class Parameter(TypedDict):
    """Fields of a parameter in `Blocks.get_api_info` that are read here."""

    parameter_name: str
    parameter_has_default: bool
    parameter_default: NotRequired[object]
    python_type: _PythonType


Endpoints = Mapping[str, Sequence[Parameter]]  # parameters of each endpoint by name


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions of a page that callers may call."""

    endpoints: Endpoints  # parameters of documented functions
    names: Mapping[str, int]  # number of each function by name
    # allowed numbers of values in a call, by the number of a function
    inputs: Mapping[int, frozenset[int]]


def functions_of(blocks: gr.Blocks) -> Functions:
    """Return the functions of a page that run on the server; others run in the browser."""
    described = blocks.get_api_info()["named_endpoints"]
    functions = [function for function in blocks.fns.values() if function.fn is not None]
    return Functions(
        {name[1:]: endpoint["parameters"] for name, endpoint in described.items()},
        {str(function.api_name): function._id for function in functions},
        {
            function._id: frozenset(
                {len(function.inputs), sum(not part.skip_api for part in function.inputs)}
            )
            for function in functions
        },
    )


def check_call(route: str, body: JsonObject, functions: Functions) -> None:
    """Raise InvalidRequest for an invalid field or an unknown function.

    A route that is no call is not checked. The error holds no value, since any may be a token: only
    a function's name or number.
    """
    check_token(body.get(TOKEN), TOKEN)
    kind, _, name = route.partition("/")
    if route.startswith(_BY_NAMES):
        _check_names(route.removeprefix(_BY_NAMES), body, functions.endpoints)
    elif kind == "call":
        _check_fields(body, _NEEDED[kind])
        if name not in functions.names:
            raise _no_such("endpoint", name, functions.names)
        _check_values(body, functions.inputs[functions.names[name]])
    elif route in _NEEDED:
        _check_fields(body, _NEEDED[route])
        number = body.get("fn_index")
        if number is not None and number not in functions.inputs:
            raise _no_such("fn_index", number, functions.inputs)
        if isinstance(number, int) and "data" in _NEEDED[route]:
            _check_values(body, functions.inputs[number])


def _check_names(name: str, body: JsonObject, endpoints: Endpoints) -> None:
    # Raises InvalidRequest for the first unknown or missing name in a call.
    if name not in endpoints:
        raise _no_such("endpoint", name, endpoints)
    parameters = {str(parameter["parameter_name"]): parameter for parameter in endpoints[name]}
    for field in body:
        if field not in parameters and field != TOKEN:
            raise fail(field[:40], "", "unknown_field")
    for field, parameter in parameters.items():
        if not parameter["parameter_has_default"] and field not in body:
            raise fail(field, "", "empty")


def _check_fields(body: JsonObject, needed: Sequence[str]) -> None:
    for field, (expected, reason) in _KINDS.items():
        value = body.get(field)
        if value is None:
            if field in needed:
                raise fail(field, "", "needed")
        elif not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            raise fail(field, "", reason)
        elif isinstance(value, str) and not 0 < len(value) <= _MAX_NAME_CHARS:
            raise fail(field, "", "too_long" if value else "empty")
    if body.get("batched"):
        raise fail("batched", "", "not_one_of", choices="false")


def _check_values(body: JsonObject, counts: Set[int]) -> None:
    values = list_in(body["data"])
    if len(values) not in counts:
        raise fail("data", "", "not_so_many", count=max(counts))


def _no_such(field: str, value: object, there: Iterable[object]) -> InvalidRequest:
    return fail(field, value, "not_one_of", choices=", ".join(map(str, there)))
