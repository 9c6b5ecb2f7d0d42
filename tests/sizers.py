"""A Sizer over the embedded snapshots, shared by tests: no network, real repositories."""

from __future__ import annotations

from functools import cache

from gpusizer.answers.models_for.model_library import ModelLibrary
from gpusizer.answers.models_for.model_use import embedded_use
from gpusizer.answers.sizer import Sizer
from gpusizer.core.settings import Settings
from gpusizer.core.time_budget import TimeBudget
from gpusizer.gpus import load_catalogue
from scrapers.embedded import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.trending import build_trending


@cache
def embedded_sizer() -> Sizer:
    """Answers for the embedded models only."""
    settings = Settings(offline=True)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    library = ModelLibrary(embedded.every, embedded_use, build_trending(settings))
    fetch, catalogue = Fetcher(settings), load_catalogue()
    return Sizer(fetch, catalogue, library=library, new_budget=unlimited_budget)


def unlimited_budget() -> TimeBudget:
    """A budget whose clock stands still, so that no answer depends on how busy the machine is."""
    return TimeBudget(1.0, lambda: 0.0)
