"""Endpoint: a public function for Gradio, whose parameters and docs come from a request model."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.api.base import Document
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.request_model import RequestModel
from gpusizer.usecases.requests.request_docs import FieldDescription, described_fields
from gpusizer.usecases.use_cases import USE_CASES

# Returns an answer from the request's fields, a visitor's token and the HTTP request.
Call = Callable[
    [Mapping[str, object], gr.OAuthToken | None, gr.Request | None], Awaitable[Document]
]

_FAILURES = (
    'Failures come back as {"error": {"code", "message", ...}}. Sizes are integers of bytes.'
)
_JSON_LISTS = ("gpus", "models")  # other lists are one text with commas


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One public endpoint."""

    name: str  # Gradio's `api_name`
    command: str  # the shell's command with the same answer, and the path over plain HTTP
    summary: str  # one sentence about the answer
    # names of the most used fields, each with its own parameter, in order
    parameters: tuple[str, ...]
    needed: tuple[str, ...]  # parameters that a call must give
    example: str  # example of `options`, as JSON
    reads_hub: bool = True  # whether the answer may depend on a visitor's rights on the Hub

    @property
    def request(self) -> type[RequestModel]:
        """Model of the request, whose fields are parameters or entries of `options`."""
        return USE_CASES[self.command].request

    @property
    def fields(self) -> tuple[FieldDescription, ...]:
        """Descriptions of the fields that have a parameter of their own."""
        described = described_fields(self.request)
        return tuple(described[name] for name in self.parameters)

    @property
    def signature(self) -> inspect.Signature:
        """Parameters with types and defaults, from which Gradio derives its schema.

        Callers do not see `token` and `request`: Gradio fills in the token of the calling visitor
        and the HTTP request.
        """
        parameters = [
            _parameter(field.name, _type_of(field), self._default_of(field))
            for field in self.fields
        ]
        parameters.append(_parameter("options", dict[str, Any] | None, None))
        if self.reads_hub:
            parameters.append(_parameter("token", gr.OAuthToken | None, None))
        parameters.append(_parameter("request", gr.Request | None, None))
        return inspect.Signature(parameters, return_annotation=dict[str, Any])

    @property
    def docstring(self) -> str:
        """Text that Gradio's API page, the Model Context Protocol and `/llms.txt` show."""
        other_names = [
            name for name in described_fields(self.request) if name not in self.parameters
        ]
        lines = [f"{field.name}: {_help(field)}" for field in self.fields]
        lines.append(
            f"options: Other fields as a JSON object, such as {self.example}."
            f" There are {', '.join(other_names)}."
        )
        arguments = "\n".join(f"    {line}" for line in lines)
        return f"{self.summary}\n\n{_FAILURES}\n\nArgs:\n{arguments}\n"

    def function(self, call: Call) -> Callable[..., Awaitable[Document]]:
        """Return the function that Gradio registers; it passes arguments to `call` as fields."""
        signature = self.signature

        async def endpoint(*arguments: object, **keywords: object) -> Document:
            bound = signature.bind(*arguments, **keywords)
            bound.apply_defaults()
            stated = dict(bound.arguments)
            return await call(stated, stated.get("token"), stated.get("request"))

        endpoint.__name__ = endpoint.__qualname__ = self.name
        endpoint.__doc__ = self.docstring
        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__annotations__ = {
            name: parameter.annotation for name, parameter in signature.parameters.items()
        } | {"return": signature.return_annotation}
        return endpoint

    def fields_of(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the fields that a call gives. Raises InvalidRequest if `options` is no object.

        Gradio does not check types.
        """
        fields = {
            field.name: (arguments[field.name] or None)
            if _zero_is_none(field)
            else arguments[field.name]
            for field in self.fields
        }
        options = arguments["options"]
        if options is None or options == "":
            return fields
        if not isinstance(options, dict):
            raise InvalidRequest(field="options", value=str(options)[:80], reason="not_an_object")
        return {**fields, **options}

    def _default_of(self, field: FieldDescription) -> object:
        if field.name in self.needed:
            return inspect.Parameter.empty
        if field.name in _JSON_LISTS:
            return None
        if field.kind is tuple:
            return field.default_text
        if field.default is None:
            return 0 if _zero_is_none(field) else ""
        return field.default


def _zero_is_none(field: FieldDescription) -> bool:
    # 0 means None: Gradio's API has no integer that may be null.
    return field.kind is int and field.default is None


def _type_of(field: FieldDescription) -> object:
    if field.name in _JSON_LISTS:
        return list[str] if field.required else list[str] | None
    return str if field.kind is tuple else field.kind


def _parameter(name: str, kind: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind
    )


def _help(field: FieldDescription) -> str:
    # On one line; Gradio reads no further lines.
    bounds = f"{field.bounds_text}; 0 for none" if _zero_is_none(field) else field.bounds_text
    details = "; ".join(filter(None, (field.choices_text, bounds)))
    meaning = f"{field.meaning[0].upper()}{field.meaning[1:]}"
    return f"{meaning} ({details})." if details else f"{meaning}."
