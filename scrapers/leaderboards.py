"""Leaderboards of the Hub's benchmarks, each in one request that serves all for ten minutes.

`GET /api/datasets/{id}/leaderboard` (https://huggingface.co/docs/hub/leaderboard-data-guide) lists
results of model repositories, those of open pull requests too. Values are untrusted and checked one
by one; an entry without a usable ID or score is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime

from gpusizer.core.errors import HubUnreachable
from gpusizer.core.loose_values import JsonValue, object_in
from gpusizer.core.settings import Settings
from gpusizer.hub.leaderboards import Leaderboard, LeaderboardEntry, ListLeaderboard
from gpusizer.hub.model_ref import is_repo_id
from scrapers.cache.hub_access import HubAccess, open_own_access
from scrapers.cache.single_flight import SingleFlight
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.client.failures import HubResource
from scrapers.client.http_response import HubRequest
from scrapers.client.hub_api import parse_answer
from scrapers.client.published_results import (
    MAX_NOTES_CHARS,
    read_score,
    read_text,
    stated_by,
)
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import Limits

MOST_ENTRIES = 2_000
_BOARDS = 16  # kept


def build_leaderboards(
    settings: Settings,
    on_call: OnCall = ignore_call,
    access: HubAccess | None = None,
    today: Callable[[], date] | None = None,
) -> ListLeaderboard | None:
    """Return a function that requests leaderboards without retries; None in offline mode.

    `on_call` is called for each request, `today` returns the day of a response.
    """
    if settings.offline:
        return None
    limits = Limits()
    limits = Limits(model_seconds=min(limits.evaluations_seconds, settings.timeout_seconds))
    session = (access or open_own_access(settings)).open_session(settings, on_call)

    def read(dataset_id: str) -> Leaderboard:
        # Derived models too: the default leaves out whatever names a base model.
        url = f"{settings.endpoint}/api/datasets/{dataset_id}/leaderboard?base_model=false"
        budget = ReadBudget(dataset_id, limits)
        request = HubRequest(url, HubResource(dataset_id), "evaluations_bytes", attempts=1)
        answer = parse_answer(session.get(request, budget).body, budget)
        return parse_leaderboard(answer, dataset_id, today() if today else datetime.now(UTC).date())

    return SingleFlight[str, Leaderboard](read, entries=_BOARDS)


def parse_leaderboard(answer: JsonValue, dataset_id: str, day: date) -> Leaderboard:
    """Parse the first `MOST_ENTRIES`.

    Raises HubUnreachable ("unexpected_answer") if the response is not a list.
    """
    if not isinstance(answer, list):
        raise HubUnreachable(repo_id=dataset_id, reason="unexpected_answer")
    entries = []
    for item in map(object_in, answer[:MOST_ENTRIES]):
        repo_id, value = item.get("modelId"), read_score(item.get("value"))
        if isinstance(repo_id, str) and is_repo_id(repo_id) and value is not None:
            notes = read_text(item.get("notes"), MAX_NOTES_CHARS)
            entries.append(LeaderboardEntry(repo_id, value, stated_by(item), notes))
    return Leaderboard(tuple(entries), day)
