"""Answers of the application over the embedded models, in this process and without the network."""

from __future__ import annotations

from gpusizer.core.settings import Settings
from gpusizer.gpus import load_catalogue
from gpusizer.ui.server.answer_cache import AnswerCache, Answers
from gpusizer.usecases.models_for.live_use import embedded_use
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.listings import build_trending


def offline_answers() -> Answers:
    """Build the answers that the page, the shell and `/v1` share, for a machine offline."""
    settings = Settings(offline=True)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    library = ModelLibrary(embedded, embedded_use, build_trending(settings))
    fetcher = Fetcher(settings)
    sizer = Sizer(fetcher, load_catalogue(), library=library)
    return Answers(sizer, lambda token: fetcher, AnswerCache(sizer))
