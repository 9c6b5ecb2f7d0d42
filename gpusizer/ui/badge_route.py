"""`/badge?model=…&gpu=…`: a picture for model cards, cached as the answers below `/v1` are.

It is always read anonymously: a token that a caller sends is not looked at, so that no private
repository has a badge.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from gpusizer.core.errors import GpusizerError
from gpusizer.text import Language, say_error
from gpusizer.ui.accepted_language import LANGUAGE_FIELD, language_of
from gpusizer.ui.answer_cache import Answer
from gpusizer.ui.answers import Answers
from gpusizer.ui.endpoints import SIZE_MODEL
from gpusizer.ui.http_api import (
    PRIVATE_CACHE,
    PUBLIC_CACHE,
    Respond,
    is_known,
    read_fields,
    read_language,
)
from gpusizer.ui.http_status import error_headers, status_of
from gpusizer.ui.metrics import Metrics
from gpusizer.ui.presenters.badge import Badge, badge_of, error_badge
from gpusizer.ui.work_pool import WorkPool

PATH = "/badge"

_TYPE = "image/svg+xml"
_INERT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "x-content-type-options": "nosniff",
}
"""A picture that is opened by its address runs nothing and loads nothing."""
_ONE_PLACE = {"top": 1, "card": False, "quantized_repos": ""}

_log = logging.getLogger(__name__)


def badge_route(answers: Answers, pool: WorkPool, metrics: Metrics) -> Respond:
    """Return the route's function. The query's fields are those of `/v1/size`."""

    async def respond(request: Request) -> Response:
        try:
            with metrics.answering(SIZE_MODEL.command, "badge"):
                fields: dict[str, Any] = read_fields(SIZE_MODEL, request)
                language = read_language(fields.pop(LANGUAGE_FIELD, None))
                badge_fields = {**fields, **_ONE_PLACE}
                answer = await pool.run(
                    lambda: answers.cache.answer(SIZE_MODEL.command, badge_fields, language)
                )
        except GpusizerError as error:
            return _error_response(error, language_of(request))
        except Exception:
            _log.exception("unexpected failure")
            return _error_response(GpusizerError(), language_of(request))
        return _response(answer, language, request.headers.get("if-none-match", ""))

    return respond


def _response(answer: Answer, language: Language, known: str) -> Response:
    headers = {**_INERT, "content-language": language, "cache-control": PRIVATE_CACHE}
    if answer.is_public:
        headers |= {"cache-control": PUBLIC_CACHE, "etag": answer.etag}
        if is_known(answer.etag, known):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return _picture(badge_of(answer.json(), language), HTTPStatus.OK, headers)


def _error_response(error: GpusizerError, language: Language) -> Response:
    """The grey badge with the error's status; nobody keeps it."""
    headers = {**_INERT, **error_headers(error, language)}
    badge = error_badge(error, say_error(error, language), language)
    return _picture(badge, status_of(error), headers)


def _picture(badge: Badge, status: HTTPStatus, headers: dict[str, str]) -> Response:
    return Response(str(badge.svg()), status, headers, media_type=_TYPE)
