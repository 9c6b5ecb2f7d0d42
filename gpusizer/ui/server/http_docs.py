"""The description of the questions over plain HTTP: for OpenAPI, and as a page that loads nothing.

Both come from the request models, as all documentation of fields does.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import Document
from gpusizer.api.errors import ErrorAnswer, ErrorInfo
from gpusizer.api.schemas import answer_schemas
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.pieces.html import Html, el, join
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
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;"
    "border-bottom:1px solid #8884}code{overflow-wrap:anywhere}"
)


def operation(endpoint: Endpoint) -> Document:
    """What OpenAPI says of one question beside its summary: fields and responses."""
    fields = (*_fields(endpoint), _LANGUAGE)
    parameters = [_parameter(field, endpoint) for field in fields]
    return {"parameters": parameters, "responses": _responses(ANSWERS[endpoint.command].model)}


def components() -> Document:
    """OpenAPI's components: the forms of all answers, and of the error object."""
    schemas = answer_schemas(_SCHEMAS)
    schemas[ErrorInfo.__name__]["properties"]["code"]["enum"] = list(STATUSES)
    return schemas


def docs_page(path: str, endpoints: tuple[Endpoint, ...], description: str) -> str:
    """The page of all questions with every field, as HTML without scripts."""
    body = el(
        "body",
        el("h1", "gpusizer"),
        el("p", description),
        el("p", el("a", "OpenAPI", href="openapi.json")),
        *(part for endpoint in endpoints for part in _section(path, endpoint)),
        el("h2", "Errors"),
        _table(("status", "codes"), _error_rows()),
    )
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width"),
        el("title", "gpusizer: HTTP"),
        el("style", Html(_STYLE)),
    )
    return "<!doctype html>" + el("html", head, body, lang="en")


def _fields(endpoint: Endpoint) -> Iterator[FieldDescription]:
    for group in described_groups(endpoint.request).values():
        yield from group


def _is_required(field: FieldDescription, endpoint: Endpoint) -> bool:
    """Whether a question cannot do without it; a machine may stand for the GPU of `models-for`."""
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


def _section(path: str, endpoint: Endpoint) -> Iterator[Html]:
    address = f"{path}/{endpoint.command}"
    example = f"{endpoint.command}?{_EXAMPLES[endpoint.command]}"
    yield el("h2", f"GET {address}", id=endpoint.command)
    yield el("p", endpoint.summary)
    yield el("p", el("a", el("code", f"{path}/{example}"), href=example))
    rows = [_row(field, endpoint) for field in _fields(endpoint)]
    yield _table(("field", "type", "default", "bounds or choices", "meaning"), rows)


def _row(field: FieldDescription, endpoint: Endpoint) -> tuple[str, ...]:
    kind = "list of texts" if field.kind is tuple else _TYPES[field.kind]
    needed = "; required" if _is_required(field, endpoint) else ""
    limits = field.choices_text or field.bounds_text
    return el("code", field.name), kind, field.default_text, limits, f"{field.meaning}{needed}"


def _error_rows() -> list[tuple[str, ...]]:
    return [(str(status), ", ".join(codes)) for status, codes in sorted(CODES.items())]


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> Html:
    head = el("tr", *(el("th", heading) for heading in headings))
    body = join(el("tr", *(el("td", cell) for cell in row)) for row in rows)
    return el("table", el("thead", head), el("tbody", body))
