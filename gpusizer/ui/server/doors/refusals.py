"""Answer to a request that is refused before Gradio sees it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Scope

from gpusizer.api.errors import error_document
from gpusizer.core.errors import GpusizerError
from gpusizer.text import LANGUAGES, Language, say_error
from gpusizer.ui.server.http_status import error_headers, language_of, status_of


def refused(
    scope: Scope,
    error: GpusizerError,
    status: HTTPStatus | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return the error object with its status, in the page's language, else in the caller's.

    Gradio's own clients show its `detail`.
    """
    language = page_language(scope)
    message = say_error(error, language)
    body = {**error_document(error, message), "detail": message}
    shown = {**error_headers(error, language), **(headers or {})}
    return JSONResponse(body, status or status_of(error), shown)


def page_language(scope: Scope) -> Language:
    """Return the language of the requested page, else the one that the caller accepts."""
    page = (name for name in LANGUAGES if scope["path"].startswith(f"/{name}/"))
    return next(page, None) or language_of(Request(scope))
