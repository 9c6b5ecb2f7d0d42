"""A Sizer over the embedded snapshots, shared by tests: no network, real repositories."""

from __future__ import annotations

from functools import cache

from gpusizer.gpus import load_catalogue
from gpusizer.settings import Settings
from gpusizer.sizer import Sizer
from scrapers.sources import build_fetcher


@cache
def embedded_sizer() -> Sizer:
    """Answers for the embedded models only."""
    return Sizer(build_fetcher(Settings(offline=True)), load_catalogue())
