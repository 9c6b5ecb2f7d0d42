"""Redis shared by several processes; only here are modules imported that need its package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.settings import Settings
from scrapers.cache.hub_access import HubAccess, open_own_access

if TYPE_CHECKING:
    from gpusizer.ui.server.question_counter import QuestionCounter


def open_access(settings: Settings) -> HubAccess:
    """Return an access to the Hub with the Redis of the settings, else with a folder.

    Raises InvalidRequest if a Redis is named and the package redis is missing.
    """
    if settings.cache_url is None:
        return open_own_access(settings)
    with _needing_redis():
        from scrapers.cache.redis_link import open_shared_access
    return open_shared_access(settings.cache_url, settings)


def shared_counter(settings: Settings) -> QuestionCounter | None:
    """Return a counter of questions in the Redis of the settings; None without one or a limit.

    Raises InvalidRequest if a Redis is named and the package redis is missing.
    """
    if settings.cache_url is None or settings.questions_per_minute is None:
        return None
    with _needing_redis():
        from gpusizer.ui.server.shared_counter import SharedCounter
    return SharedCounter(settings.questions_per_minute, settings.cache_url)


@contextmanager
def _needing_redis() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise InvalidRequest(field="GPUSIZER_CACHE_URL", value="", reason="needs_redis") from None
