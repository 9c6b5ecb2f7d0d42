"""Descriptions of the questions over plain HTTP: for OpenAPI, and as a page that loads nothing.

Both come from the request models, as all documentation of fields does.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import Document
from gpusizer.api.errors import ErrorAnswer, ErrorInfo
from gpusizer.api.schemas import answer_schemas
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.server.endpoint import Endpoint
from gpusizer.ui.server.http_status import CODES, RETRY_AFTER_SECONDS, STATUSES
from gpusizer.usecases.requests.request_docs import FieldDescription, described_groups

_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string", tuple: "array"}
_EXAMPLES = {
    "size": "model=Qwen/Qwen3-8B&context=32768",
    "train": "model=Qwen/Qwen3-8B&method=qlora&gpu=4090",
    "compare": "gpus=4090,2x3090&model=Qwen/Qwen3-32B",
    "gpus": "query=rtx+40",
    "models-for": "gpu=4090&purpose=code",
    "desk": "models=Qwen/Qwen3-8B+users=2,BAAI/bge-large-en-v1.5&gpu=2x3090",
}
_LANGUAGE = FieldDescription(
    name="lang",
    kind=str,
    unit="",
    required=False,
    default=LANGUAGES[0],
    low=None,
    high=None,
    choices=tuple(LANGUAGES),
    meaning="language of sentences; errors without it follow Accept-Language",
)
_SCHEMAS = "#/components/schemas/"


def operation(endpoint: Endpoint) -> Document:
    """Return OpenAPI's description of one question: fields and responses."""
    fields = (*_fields(endpoint), _LANGUAGE)
    parameters = [_parameter(field, endpoint) for field in fields]
    return {"parameters": parameters, "responses": _responses(ANSWERS[endpoint.command].model)}


def components() -> Document:
    """Return OpenAPI's components: the schemas of all answers, and of the error object."""
    schemas = answer_schemas(_SCHEMAS)
    schemas[ErrorInfo.__name__]["properties"]["code"]["enum"] = list(STATUSES)
    return schemas


def docs_page(path: str, endpoints: tuple[Endpoint, ...], description: str) -> str:
    """Return the page of all questions with every field, as HTML without scripts."""
    questions = [
        (
            endpoint,
            _EXAMPLES[endpoint.command],
            [_row(field, endpoint) for field in _fields(endpoint)],
        )
        for endpoint in endpoints
    ]
    errors = sorted(CODES.items())
    shown = {"path": path, "questions": questions, "description": description, "errors": errors}
    return render("docs.html", Words("en"), **shown)


def _fields(endpoint: Endpoint) -> Iterator[FieldDescription]:
    for group in described_groups(endpoint.request).values():
        yield from group


def _is_required(field: FieldDescription, endpoint: Endpoint) -> bool:
    # `models-for` accepts a machine instead of a GPU.
    return field.name in endpoint.needed and field.name != "gpu"


def _parameter(field: FieldDescription, endpoint: Endpoint) -> Document:
    parameter: Document = {
        "name": field.name,
        "in": "query",
        "required": _is_required(field, endpoint),
        "description": f"{field.meaning[0].upper()}{field.meaning[1:]}.",
        "schema": _schema(field, required=_is_required(field, endpoint)),
    }
    return parameter | ({"style": "form", "explode": False} if field.kind is tuple else {})


def _schema(field: FieldDescription, *, required: bool) -> Document:
    item: Document = {"type": _TYPES[field.kind]}
    text: Document = {"type": "string"} | ({"minLength": 1} if required else {})
    if field.kind is tuple:
        item |= {"items": text, "maxItems": 64} | ({"minItems": 1} if required else {})
    elif required:
        item |= text
    if field.choices:
        item["enum"] = list(field.choices)
    if field.low is not None and field.high is not None:
        item |= {"minimum": field.low, "maximum": field.high}
    if field.default not in (None, "", ()):
        item["default"] = list(field.default) if isinstance(field.default, tuple) else field.default
    return item


def _responses(form: type) -> Document:
    answer, error = (
        {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{it.__name__}"}}}
        for it in (form, ErrorAnswer)
    )
    responses: Document = {
        "200": {"description": "The answer.", "content": answer},
        "304": {"description": "The answer is the one that If-None-Match names."},
    }
    for status, codes in sorted(CODES.items()):
        seconds = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
        headers = {"headers": {"Retry-After": seconds}} if status in RETRY_AFTER_SECONDS else {}
        responses[str(status)] = {"description": ", ".join(codes), "content": error, **headers}
    return responses


def _row(field: FieldDescription, endpoint: Endpoint) -> tuple[FieldDescription, str, str, str]:
    kind = "list of texts" if field.kind is tuple else _TYPES[field.kind]
    needed = "; required" if _is_required(field, endpoint) else ""
    limits = field.choices_text or field.bounds_text
    return field, kind, limits, f"{field.meaning}{needed}"
