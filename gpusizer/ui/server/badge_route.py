"""`/badge?model=…&gpu=…`: a picture for model cards, cached as the answers below `/v1` are.

It is always read anonymously: a token that a caller sends is not looked at, so that no private
repository has a badge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response

from gpusizer.answers.contract.answers import SizeAnswer
from gpusizer.core.errors import GpusizerError
from gpusizer.text import Language, say_error
from gpusizer.ui.presenters.badge import Badge, badge_of, error_badge
from gpusizer.ui.questions.answer_cache import Answer, Answers
from gpusizer.ui.questions.endpoints import SIZE_MODEL
from gpusizer.ui.questions.metrics import Metrics
from gpusizer.ui.server.http_api import QueryFields, Respond, cached, responder
from gpusizer.ui.server.http_status import error_headers, status_of

PATH = "/badge"

_TYPE = "image/svg+xml"
_INERT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "x-content-type-options": "nosniff",
}
"""A picture that is opened by its address runs nothing and loads nothing."""
_ONE_PLACE = {"top": 1, "card": False, "quantized_repos": ""}


def badge_route(answers: Answers, metrics: Metrics) -> Respond:
    """Return the route's function. The query's fields are those of `/v1/size`."""

    async def ask(
        visitor: str | None, fields: QueryFields, _token: str | None, language: Language
    ) -> Answer:
        asked = {**fields, **_ONE_PLACE}
        return await answers.asked_by(visitor, SIZE_MODEL.command, asked, None, language)

    return responder(SIZE_MODEL, metrics, "badge", ask, _response, error_response)


def _response(answer: Answer, headers: Headers, language: Language) -> Response:
    def whole(kept: Mapping[str, str]) -> Response:
        report: SizeAnswer = json.loads(answer.text)
        return _picture(badge_of(report, language), HTTPStatus.OK, kept)

    return cached(answer, headers, {**_INERT, "content-language": language}, whole)


def error_response(error: GpusizerError, language: Language, _: str | None = None) -> Response:
    """The grey badge with the error's status; nobody keeps it."""
    badge = error_badge(error, say_error(error, language), language)
    return _picture(badge, status_of(error), {**_INERT, **error_headers(error, language)})


def _picture(badge: Badge, status: HTTPStatus, headers: Mapping[str, str]) -> Response:
    return Response(str(badge.svg()), status, dict(headers), media_type=_TYPE)
