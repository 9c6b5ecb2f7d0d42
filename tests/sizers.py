"""A Sizer over the embedded snapshots, shared by tests: no network, real repositories."""

from __future__ import annotations

from functools import cache

from gpusizer.gpus import load_catalogue
from gpusizer.models_for.shelf import Shelf
from gpusizer.settings import Settings
from gpusizer.sizer import Sizer
from scrapers.embedded import EmbeddedSnapshots
from scrapers.sources import build_fetcher


@cache
def embedded_sizer() -> Sizer:
    """Answers for the embedded models only."""
    settings = Settings(offline=True)
    shelf = Shelf(EmbeddedSnapshots(settings.snapshots_folder).every)
    return Sizer(build_fetcher(settings), load_catalogue(), shelf=shelf)
