"""Badges of shields.io for model cards at `/v1/badge?model=…&gpu=…`.

They are cached as other answers below `/v1`, and always read anonymously: a caller's token is
ignored, so that no private repository has a badge.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import Response

from gpusizer.api.size import SizeAnswer
from gpusizer.core.errors import GpusizerError
from gpusizer.core.printable import json_bytes
from gpusizer.text import Language
from gpusizer.ui.presenters.badge import Badge, badge_of, error_badge
from gpusizer.ui.server.answer_cache import Answer, Answers
from gpusizer.ui.server.endpoints import SIZE_MODEL
from gpusizer.ui.server.http_api import QueryFields, Respond, cached, responder
from gpusizer.ui.server.http_status import error_headers
from gpusizer.ui.server.metrics import Metrics

_ONE_PLACE = {"top": 1, "card": False, "quantized_repos": ""}


def badge_route(answers: Answers, metrics: Metrics) -> Respond:
    """Return the route's function. The query's fields are those of `/v1/size`."""

    async def ask(
        visitor: str | None, fields: QueryFields, _token: str | None, language: Language
    ) -> Answer:
        asked = {**fields, **_ONE_PLACE}
        return await answers.asked_by(visitor, SIZE_MODEL.command, asked, None, language)

    return responder(SIZE_MODEL, metrics, "badge", ask, _response, _error_response)


def _response(answer: Answer, headers: Headers, language: Language) -> Response:
    def whole(kept: Mapping[str, str]) -> Response:
        report = SizeAnswer.from_json(answer.json())
        return _json(badge_of(report, language), kept)

    return cached(answer, headers, {"content-language": language}, whole)


def _error_response(error: GpusizerError, language: Language, _: str | None) -> Response:
    # Uncached. shields.io reads answers of status 200 alone.
    return _json(error_badge(error, language), error_headers(error, language))


def _json(badge: Badge, headers: Mapping[str, str]) -> Response:
    return Response(json_bytes(badge), headers=headers, media_type="application/json")
