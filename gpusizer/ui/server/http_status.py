"""HTTP status, headers and language of each error, with the time to wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.requests import Request

from gpusizer.core.errors import GpusizerError
from gpusizer.text import LANGUAGE_FIELD, LANGUAGES, Language

NOT_KEPT = "no-store"  # Cache-Control of uncacheable answers

# errors by status
CODES: Mapping[HTTPStatus, Sequence[str]] = {
    HTTPStatus.BAD_REQUEST: (
        "invalid_request",
        "invalid_model_id",
        "unknown_gpu",
        "unknown_quant",
        "unknown_engine",
    ),
    HTTPStatus.FORBIDDEN: ("gated_model",),
    HTTPStatus.NOT_FOUND: (
        "model_not_found",
        "private_or_missing",
        "revision_not_found",
        "file_not_found",
        "unknown_event",
    ),
    HTTPStatus.REQUEST_TIMEOUT: ("request_too_slow",),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("request_too_large",),
    HTTPStatus.UNPROCESSABLE_ENTITY: (
        "no_weights",
        "malformed_repo",
        "limits_exceeded",
        "unsupported_dtype",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("too_many_requests", "hub_rate_limited"),
    HTTPStatus.SERVICE_UNAVAILABLE: ("hub_unreachable", "server_busy", "sign_in_failed"),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("internal",),
}

# by the error's code
STATUSES: Mapping[str, HTTPStatus] = {
    code: status for status, codes in CODES.items() for code in codes
}

# Default waiting times. The Hub's windows have 5 minutes.
RETRY_AFTER_SECONDS: Mapping[int, int] = {
    HTTPStatus.TOO_MANY_REQUESTS: 60,
    HTTPStatus.SERVICE_UNAVAILABLE: 5,
}
_LONGEST_SECONDS = 3600


def status_of(error: GpusizerError) -> HTTPStatus:
    """Return the HTTP status of an error."""
    return STATUSES[error.code]


def error_headers(error: GpusizerError, language: Language) -> dict[str, str]:
    """Return the headers of an error in a language, which make it uncacheable."""
    headers = {"cache-control": NOT_KEPT, "content-language": language}
    seconds = retry_after_seconds(error)
    return headers if seconds is None else {**headers, "retry-after": str(seconds)}


def retry_after_seconds(error: GpusizerError) -> int | None:
    """Return whole seconds to wait before asking again, or None if waiting does not help."""
    usual = RETRY_AFTER_SECONDS.get(status_of(error))
    if usual is None:
        return None
    seconds = error.fields.get("retry_after_seconds")
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return usual
    return min(max(math.ceil(seconds), 1), _LONGEST_SECONDS)


def language_of(request: Request) -> Language:
    """Return the language of the query's field, else of `Accept-Language`, else the first."""
    accepted = request.headers.get("accept-language", "").split(",")
    tags = [request.query_params.get(LANGUAGE_FIELD, ""), *sorted(accepted, key=_unwanted)]
    primary = (tag.partition(";")[0].strip().lower().partition("-")[0] for tag in tags)
    known = (name for tag in primary for name in LANGUAGES if name == tag)
    return next(known, LANGUAGES[0])


def _unwanted(tag: str) -> float:
    # Negative weight `;q=` of a language, so that wanted ones sort first.
    weight = tag.partition("q=")[2].strip()
    try:
        return -float(weight) if weight else -1.0
    except ValueError:
        return 0.0
