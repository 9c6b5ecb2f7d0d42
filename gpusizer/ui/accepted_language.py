"""The language of an error: the one asked for, else the caller's first that there is."""

from __future__ import annotations

from starlette.requests import Request

from gpusizer.text import LANGUAGES, Language

LANGUAGE_FIELD = "lang"


def language_of(request: Request) -> Language:
    """The language of the query's field, else of `Accept-Language`, else the first we have."""
    accepted = request.headers.get("accept-language", "").split(",")
    tags = [request.query_params.get(LANGUAGE_FIELD, ""), *sorted(accepted, key=_unwanted)]
    primary = (tag.partition(";")[0].strip().lower().partition("-")[0] for tag in tags)
    known = (name for tag in primary for name in LANGUAGES if name == tag)
    return next(known, LANGUAGES[0])


def _unwanted(tag: str) -> float:
    """How little a language of `Accept-Language` is wanted, by its weight `;q=`."""
    weight = tag.partition("q=")[2].strip()
    try:
        return -float(weight) if weight else -1.0
    except ValueError:
        return 0.0
