"""A Sizer over the embedded snapshots, shared by tests: no network, real repositories."""

from __future__ import annotations

from datetime import UTC, date
from functools import cache, lru_cache
from typing import Any

from cachetools import LRUCache

from gpusizer.core.settings import Settings
from gpusizer.core.time_budget import TimeBudget
from gpusizer.gpus import load_catalogue, purchase
from gpusizer.hub.snapshot import Fetch
from gpusizer.usecases.models_for.live_use import embedded_use
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.listings import build_trending

_MOST_ANSWERS = 96  # remembered in a process


@cache
def embedded_sizer() -> Sizer:
    """Answers for the embedded models only."""
    settings = Settings(offline=True)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    library = ModelLibrary(embedded, embedded_use, build_trending(settings))
    fetch, catalogue = Fetcher(settings), load_catalogue()
    return _Remembering(fetch, catalogue, library=library, new_budget=unlimited_budget)


class _Remembering(Sizer):
    """Studies each question once, whichever test asks it, and answers it once on each day of
    prices."""

    def __init__(self, *sources: Any, **more: Any) -> None:
        super().__init__(*sources, **more)
        self._asked = lru_cache(_MOST_ANSWERS)(super().question)
        self._reports: LRUCache[tuple[int, date], tuple[Question, Report]] = LRUCache(_MOST_ANSWERS)

    def reading(self, fetch: Fetch) -> Sizer:
        return self if fetch is self.fetch else super().reading(fetch)

    def question(self, request: SizeRequest) -> Question:
        return self._asked(request)

    def report(self, question: Question) -> Report:
        key = (id(question), purchase.datetime.now(UTC).date())
        if key not in self._reports:  # which keeps the question, so that no other has its id
            self._reports[key] = (question, super().report(question))
        return self._reports[key][1]


def unlimited_budget() -> TimeBudget:
    """Return a budget with a stopped clock, so that no answer depends on the machine's load."""
    return TimeBudget(1.0, lambda: 0.0)
