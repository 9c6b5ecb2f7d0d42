"""Composition of the shell. What reads the Hub or a checkpoint is loaded where one is read.

Loading it costs more processor time than an answer from what is stored.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module

from gpusizer.answers.models_for.model_library import ModelLibrary
from gpusizer.answers.models_for.model_use import embedded_use
from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import HubUnreachable
from gpusizer.core.settings import Settings
from gpusizer.gpus import load_catalogue
from gpusizer.hub.listed_models import Listing
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.quantized_repos import QuantizedRepo
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from scrapers.embedded import EmbeddedSnapshots
from scrapers.local_refs import LocalRef, parse_local_or_model_ref
from scrapers.stored import StoredSnapshots, cache_on_disk


def make_sizer(offline: bool, token: str | None) -> Sizer:
    """A Sizer over the Hub with the rights of this user, or over what is stored when `offline`.

    `token` is the one that the command line gives. Raises InvalidRequest for a setting or a token
    that cannot be used.
    """
    settings = Settings.from_environment(os.environ)
    if offline:
        settings = replace(settings, offline=True)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    if settings.offline and settings.cache_url is None:
        stored = StoredSnapshots(embedded, cache_on_disk(settings))
        library = ModelLibrary(embedded.every, embedded_use, _nothing_trends)
        return Sizer(
            _with_local(stored), load_catalogue(), _not_listed, library, parse_local_or_model_ref
        )
    hub = import_module("gpusizer.composition.hub_readers").open_readers(settings, token)
    library = ModelLibrary(embedded.every, embedded_use, hub.trending)
    return Sizer(
        _with_local(hub.fetch), load_catalogue(), hub.lister, library, parse_local_or_model_ref
    )


def _with_local(fetch: Fetch) -> Fetch:
    def read(ref: ModelRef) -> RepoSnapshot:
        if not isinstance(ref, LocalRef):
            return fetch(ref)
        local = import_module("gpusizer.composition.local_reader")
        snapshot: RepoSnapshot = local.with_local_checkpoints(fetch)(ref)
        return snapshot

    return read


def _nothing_trends() -> Listing:
    raise HubUnreachable(repo_id="models", reason="offline")


def _not_listed(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
    raise HubUnreachable(repo_id=repo_id, reason="offline")
