"""Composition of the shell and the library, which read the Hub or checkpoints on a disk."""

from __future__ import annotations

import os

from gpusizer.composition.shared import open_access
from gpusizer.core.settings import Settings
from gpusizer.core.time_budget import own_budget
from gpusizer.gpus import load_catalogue
from gpusizer.usecases.models_for.live_use import embedded_use
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.leaderboards import build_leaderboards
from scrapers.listings import build_lister, build_trending
from scrapers.repository.local_checkpoint import with_local_checkpoints
from scrapers.repository.local_refs import parse_local_or_model_ref
from scrapers.repository.tokens import own_token


def make_sizer(settings: Settings, token: str | None) -> Sizer:
    """Build a Sizer with this user's rights on the Hub, and this machine's checkpoints.

    `token` is from the command line. Raises InvalidRequest for an unusable one.
    """
    return sizer_of(settings, None if settings.offline else own_token(os.environ, token))


def sizer_of(settings: Settings, token: str | None) -> Sizer:
    """Build a Sizer with the rights of a token, of anyone without one, and this machine's
    checkpoints.

    Raises InvalidRequest for a malformed token.
    """
    access = open_access(settings)
    fetch = Fetcher(settings, access=access, own_token=token)
    trending = build_trending(settings, access=access)
    leaderboards = build_leaderboards(settings, access=access)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    library = ModelLibrary(embedded, embedded_use, trending, leaderboards=leaderboards)
    return Sizer(
        with_local_checkpoints(fetch),
        load_catalogue(),
        build_lister(settings, access=access),
        library,
        parse_local_or_model_ref,
        own_budget,
    )
