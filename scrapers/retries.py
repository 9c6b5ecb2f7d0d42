"""When and how long to wait before asking the Hub again. Pure but for the clock and the jitter."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 2.0
# IETF draft-ietf-httpapi-ratelimit-headers, as the Hub sends it: "api";r=0;t=295
_WINDOW = re.compile(r"(?:^|;)\s*t=(\d{1,6})(?:$|[;,])")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


def retry_after_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """Seconds the Hub asks to wait; None if it does not.

    `Retry-After` counts on any answer. `RateLimit`, which the Hub sends on every one, says
    when the window ends: a reason to wait only on 429.
    """
    value = headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    if value:
        return _seconds_until(value)
    window = _WINDOW.search(headers.get("RateLimit", "")) if status == 429 else None
    return float(window[1]) if window else None


def pause_seconds(attempt: int, hint: float | None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 0), jittered upwards.

    The Hub's own hint is a lower bound, so that threads do not return at one instant early.
    """
    backoff = min(_FIRST_PAUSE_SECONDS * 2.0**attempt, _LONGEST_PAUSE_SECONDS)
    jittered = backoff * (0.5 + random.random())
    return jittered if hint is None else hint + jittered * 0.1


def _seconds_until(date: str) -> float | None:
    """Seconds until an HTTP date, 0 for one in the past, None for what is no date."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
