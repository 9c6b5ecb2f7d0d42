"""Composition of the shell for commands without a network: embedded and cached models."""

from __future__ import annotations

from gpusizer.core.errors import HubUnreachable
from gpusizer.core.settings import Settings
from gpusizer.core.time_budget import own_budget
from gpusizer.gpus import load_catalogue
from gpusizer.hub.listed_models import Listing, QuantizedRepo
from gpusizer.usecases.models_for.live_use import embedded_use
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots, StoredSnapshots, cache_on_disk
from scrapers.repository.local_refs import parse_local_or_model_ref


def make_sizer(settings: Settings, token: str | None) -> Sizer:
    """Build a Sizer of stored models. It needs no `token`."""
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    stored = StoredSnapshots(embedded, cache_on_disk(settings))
    library = ModelLibrary(embedded, embedded_use, _nothing_trends)
    return Sizer(
        stored, load_catalogue(), _not_listed, library, parse_local_or_model_ref, own_budget
    )


def _nothing_trends() -> Listing:
    raise HubUnreachable(repo_id="models", reason="offline")


def _not_listed(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
    raise HubUnreachable(repo_id=repo_id, reason="offline")
