"""Questions over plain HTTP: `GET /v1/size?model=…`, without a session, cacheable."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from gpusizer.api.base import Document
from gpusizer.api.errors import error_document
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.printable import json_bytes
from gpusizer.core.tokens import check_token
from gpusizer.core.validation import fail
from gpusizer.text import LANGUAGE_FIELD, LANGUAGES, Language, read_language, say_error
from gpusizer.ui.server.answer_cache import Answer, Answers
from gpusizer.ui.server.asker import asker_of
from gpusizer.ui.server.endpoint import Endpoint
from gpusizer.ui.server.http_docs import components, docs_page, operation
from gpusizer.ui.server.http_status import (
    NOT_KEPT,
    error_headers,
    language_of,
    status_of,
)
from gpusizer.ui.server.metrics import Metrics
from gpusizer.usecases.requests.request_docs import described_fields

PATH = "/v1"

# descriptions of the questions, for people and for programs
DOCS_PATH, OPENAPI_PATH = f"{PATH}/docs", f"{PATH}/openapi.json"

# As long as gpusizer itself trusts the commit of a branch; for a minute more a cache may send an
# answer while it asks for the next one.
PUBLIC_CACHE = "public, max-age=300, stale-while-revalidate=60"
PRIVATE_CACHE = "private, no-store"
_VARY = "Accept-Encoding, Authorization"
_BEARER = "bearer "
_JSON = "application/json"
_DESCRIPTION = (
    "Which GPUs run a Hugging Face model, how fast, for how much, and why. Sizes are integers of"
    " bytes. The fields of a request are query parameters, lists texts with commas or repeated"
    " parameters. `ETag` names commit, request and data: `If-None-Match` costs a 304."
)

# types without an empty value, as the schema says, and the reason of the refusal
_NEVER_EMPTY = {int: "not_an_integer", float: "not_a_number", bool: "not_a_boolean"}

_log = logging.getLogger(__name__)

Respond = Callable[[Request], Awaitable[Response]]


class DescribedApi(FastAPI):
    """Application whose description has the schemas of answers; it is written once."""

    def openapi(self) -> Document:
        described = super().openapi()
        if "components" not in described:
            described["components"] = {"schemas": components()}
        return described


def http_api(answers: Answers, endpoints: tuple[Endpoint, ...], metrics: Metrics) -> FastAPI:
    """Return the application to mount at PATH: a route for each question, and their description."""
    api = DescribedApi(
        title="gpusizer", version="1", description=_DESCRIPTION, docs_url=None, redoc_url=None
    )
    for endpoint in endpoints:
        ask = _asking(answers, endpoint.command)
        respond = responder(endpoint, metrics, "http", ask, _response, _error_response)
        path, described = f"/{endpoint.command}", operation(endpoint)
        api.add_api_route(
            path,
            respond,
            methods=["GET"],
            operation_id=endpoint.name,
            summary=endpoint.summary,
            response_class=JSONResponse,
            openapi_extra=described,
        )
        api.add_api_route(path, respond, methods=["HEAD"], include_in_schema=False)
    page = docs_page(PATH, endpoints, _DESCRIPTION)

    async def docs(_: Request) -> HTMLResponse:
        return HTMLResponse(page)

    api.add_api_route("/docs", docs, include_in_schema=False)
    api.add_exception_handler(HTTPException, _no_such_route(endpoints))
    # A visitor's request would write it in the event loop, where all others wait for it.
    api.openapi()
    return api


QueryFields = dict[str, str | list[str]]  # fields of a query as texts; repeated ones are lists

# Answers a visitor's question by its fields, for the owner of a token, in a language.
Ask = Callable[[str | None, QueryFields, str | None, Language], Awaitable[Answer]]
Refuse = Callable[[GpusizerError, Language, str | None], Response]


def _asking(answers: Answers, question: str) -> Ask:
    async def ask(
        visitor: str | None, fields: QueryFields, token: str | None, language: Language
    ) -> Answer:
        return await answers.asked_by(visitor, question, fields, token, language)

    return ask


def responder(
    endpoint: Endpoint,
    metrics: Metrics,
    way: str,
    ask: Ask,
    show: Callable[[Answer, Headers, Language], Response],
    refuse: Refuse,
) -> Respond:
    """Return the function of a route that answers a question, counted as a `way` to ask."""

    async def respond(request: Request) -> Response:
        model: str | None = None
        try:
            with metrics.answering(endpoint.command, way):
                fields = _read_fields(endpoint, request)
                named = fields.get("model")
                model = named if isinstance(named, str) else None
                language = read_language(fields.pop(LANGUAGE_FIELD, LANGUAGES[0]))
                token = _token(request.headers)
                answer = await ask(asker_of(request), fields, token, language)
        except GpusizerError as error:
            return refuse(error, language_of(request), model)
        except Exception:
            _log.exception("unexpected failure")
            return refuse(GpusizerError(), language_of(request), model)
        return show(answer, request.headers, language)

    return respond


def _read_fields(endpoint: Endpoint, request: Request) -> QueryFields:
    # A repeated list becomes a list of Python's, and needed fields are present. Raises
    # InvalidRequest for another repeated field, and for a number, flag or choice without a value:
    # `max_watts=` is a mistake here, while a form's empty field is unset.
    stated: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        stated.setdefault(name, []).append(value)
    kinds = described_fields(endpoint.request)
    fields: QueryFields = {
        name: [] if kinds[name].kind is tuple else "" for name in endpoint.needed
    }
    for name, values in stated.items():
        is_list = name in kinds and kinds[name].kind is tuple
        if len(values) > 1 and not is_list:
            raise fail(name[:40], ", ".join(values), "repeated")
        if values == [""] and name in kinds:
            if kinds[name].kind in _NEVER_EMPTY:
                raise fail(name, "", _NEVER_EMPTY[kinds[name].kind])
            if kinds[name].choices:
                raise fail(name, "", "not_one_of", choices=", ".join(kinds[name].choices))
        fields[name] = values if len(values) > 1 else values[0]
    return fields


def _error_response(error: GpusizerError, language: Language, repo_id: str | None) -> Response:
    # Not cacheable.
    shown_id = None if repo_id is None else repo_id[:200]
    body = json_bytes(error_document(error, say_error(error, language), shown_id))
    return Response(body, status_of(error), error_headers(error, language), _JSON)


def _response(answer: Answer, headers: Headers, _: Language) -> Response:
    # Compressed if the caller can read that.
    def whole(kept: Mapping[str, str]) -> Response:
        if "gzip" in headers.get("accept-encoding", ""):
            encoded = {**kept, "content-encoding": "gzip"}
            return Response(answer.packed, headers=encoded, media_type=_JSON)
        return Response(answer.text, headers=dict(kept), media_type=_JSON)

    return cached(answer, headers, {"vary": _VARY}, whole)


def cached(
    answer: Answer,
    headers: Headers,
    more: Mapping[str, str],
    whole: Callable[[Mapping[str, str]], Response],
) -> Response:
    """Return the `whole` response with caching headers and `more`, or a 304.

    The 304 answers a caller that already has this version.
    """
    if not answer.is_public:
        return whole({**more, "cache-control": PRIVATE_CACHE})
    kept = {**more, "cache-control": PUBLIC_CACHE, "etag": answer.etag}
    if is_known(answer.etag, headers.get("if-none-match", "")):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=kept)
    return whole(kept)


def is_known(etag: str, if_none_match: str) -> bool:
    """Return whether a list of entity tags names this one.

    The comparison is the weak one of RFC 9110, 8.8.3.2.
    """
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def _token(headers: Headers) -> str | None:
    # The Hub token in `Authorization: Bearer hf_…`. Raises InvalidRequest for an impossible one.
    value = headers.get("authorization", "")
    return check_token(value[len(_BEARER) :].strip()) if value.lower().startswith(_BEARER) else None


def _no_such_route(
    endpoints: tuple[Endpoint, ...],
) -> Callable[[Request, Exception], Awaitable[Response]]:
    # The error object names the right paths.
    paths = ", ".join(f"{PATH}/{endpoint.command}" for endpoint in endpoints)

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        wrong = InvalidRequest(
            field="path", value=request.url.path[:80], reason="not_one_of", choices=paths
        )
        body = error_document(wrong, say_error(wrong, language_of(request)))
        headers = {**(error.headers or {}), "cache-control": NOT_KEPT}
        return JSONResponse(body, error.status_code, headers)

    return refuse
