"""Asks the Hub's listing for the models that are trending, in one request.

The parameters are those of `HfApi.list_models` of huggingface_hub 2.4 (`sort=trendingScore`,
`expand`). Values come from anybody and are checked one by one; an entry without a usable ID is left
out. The request counts once against the Hub's limit of 500 in 5 minutes for anonymous callers
(docs/hub/rate-limits), is never repeated, and its answer serves all callers for ten minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

from gpusizer.core.errors import HubUnreachable
from gpusizer.core.settings import Settings
from gpusizer.hub.listed_models import ListedModel, Listing, ListTrending
from gpusizer.hub.model_ref import is_repo_id
from scrapers.cache.hub_access import HubAccess, open_access
from scrapers.cache.single_flight import SingleFlight
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.client.failures import HubResource
from scrapers.client.http_response import HubRequest
from scrapers.client.hub_api import MAX_COUNT, parse_answer, parse_info, read_count, read_day
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import Limits

LISTED_MODELS = 500
SECONDS = 10.0
"""Time for the request: the answer goes without it where the Hub is slow."""
_LISTING = "models"
"""Stands in errors for the ID of a repository."""
_EXPANDED = ("downloads", "likes", "createdAt", "trendingScore", "pipeline_tag", "safetensors")
_EXPANDED_CARD = ("gated", "tags")


def build_trending(
    settings: Settings,
    on_call: OnCall = ignore_call,
    access: HubAccess | None = None,
    today: Callable[[], date] | None = None,
) -> ListTrending:
    """Return a function that asks for the trending models, by these settings.

    It raises HubUnreachable ("offline" in offline mode), HubRateLimited and LimitsExceeded;
    `on_call` is called for each request, `today` gives the day of an answer.
    """
    if settings.offline:
        return _offline
    limits = Limits(model_seconds=min(SECONDS, settings.timeout_seconds))
    session = (access or open_access(settings)).open_session(settings, on_call)
    url = trending_url(settings.endpoint)

    def read(key: str) -> Listing:
        budget = ReadBudget(key, limits)
        request = HubRequest(url, HubResource(key), "info_bytes", attempts=1)
        body = session.get(request, budget).body
        day = today() if today else datetime.now(UTC).date()
        return parse_trending(parse_answer(body, budget), day)

    listings = SingleFlight[str, Listing](read, entries=1)
    return lambda: listings(_LISTING)


def trending_url(endpoint: str, limit: int = LISTED_MODELS) -> str:
    """Return the URL of the listing, the most trending models first."""
    query = [("sort", "trendingScore"), ("limit", str(limit))]
    query += [("expand", name) for name in (*_EXPANDED, *_EXPANDED_CARD)]
    return f"{endpoint}/api/models?{urlencode(query)}"


def parse_trending(answer: Any, day: date) -> Listing:
    """Parse the listing; each repository counts once, where it stands first.

    Raises HubUnreachable ("unexpected_answer") if the answer is not a list.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=_LISTING, reason="unexpected_answer")
    models: dict[str, ListedModel] = {}
    for entry in answer[:LISTED_MODELS]:
        repo_id = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(repo_id, str) and is_repo_id(repo_id):
            models.setdefault(repo_id.casefold(), _listed(entry, repo_id, day))
    return Listing(tuple(models.values()), day)


def _listed(entry: dict[str, Any], repo_id: str, day: date) -> ListedModel:
    info = parse_info(entry, repo_id)
    return ListedModel(
        repo_id=repo_id,
        created=read_day(entry.get("createdAt"), day),
        downloads=read_count(entry.get("downloads")),
        likes=read_count(entry.get("likes")),
        trending_score=_score(entry.get("trendingScore")),
        pipeline_tag=info.pipeline_tag,
        parameters=sum(info.parameters.values()) if info.parameters else None,
        license=info.license,
        gated=info.gated,
        base_relation=info.base_relation,
        base_models=info.base_models,
    )


def _score(value: Any) -> float | None:
    usable = type(value) in (int, float) and math.isfinite(value) and 0 <= value < MAX_COUNT
    return value if usable else None


def _offline() -> Listing:
    raise HubUnreachable(repo_id=_LISTING, reason="offline")
