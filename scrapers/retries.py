"""When to repeat a request, and how long to wait before. Pure except for clock and jitter."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 2.0
# RateLimit header (IETF draft-ietf-httpapi-ratelimit-headers) of the Hub: "api";r=0;t=295
_LEFT = re.compile(r"(?:^|;)\s*r=(\d{1,6})(?=$|[;,])")
_WINDOW = re.compile(r"(?:^|;)\s*t=(\d{1,6})(?:$|[;,])")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


def retry_after_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the Hub's headers ask to wait, None if they do not.

    `Retry-After` is used at any status. The Hub sends `RateLimit`, what is left of a window and the
    seconds until its end, with every response: it is used at status 429 only, and where nothing is
    left, as huggingface_hub does (`_http.py`); another 429 passes sooner.
    """
    value = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    if value:
        return _seconds_until(value)
    limit = headers.get("RateLimit", "") if status == 429 else ""
    left, window = _LEFT.search(limit), _WINDOW.search(limit)
    is_empty = left is None or int(left[1]) == 0
    return float(window[1]) if window and is_empty else None


def pause_seconds(attempt: int, hint: float | None) -> float:
    """Return the seconds to wait after failed attempt number `attempt` (from 0), with jitter.

    `hint` seconds from the Hub's headers are a lower bound; the jitter after them keeps threads
    from repeating their requests at the same moment.
    """
    backoff = min(_FIRST_PAUSE_SECONDS * 2.0**attempt, _LONGEST_PAUSE_SECONDS)
    jittered = backoff * (0.5 + random.random())
    return jittered if hint is None else hint + jittered * 0.1


def _seconds_until(date: str) -> float | None:
    """Return the seconds until an HTTP date, 0 for one in the past, None for an invalid date."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
