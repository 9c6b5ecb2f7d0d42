"""build_fetcher: the one function the rest of gpusizer reads models with."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    PrivateOrMissing,
)
from gpusizer.hub_id import ModelRef
from gpusizer.settings import Settings
from gpusizer.snapshot import RepoSnapshot
from scrapers.completion import Completion
from scrapers.embedded import EmbeddedSnapshots
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.limits import Limits
from scrapers.recent import Recent
from scrapers.repo_reader import DEFAULT_BRANCH

Fetcher = Callable[[ModelRef], RepoSnapshot]

# Failures that say nothing against the model: an embedded copy answers the question.
_EXCUSED = (HubUnreachable, HubRateLimited, GatedModel, PrivateOrMissing)


def build_fetcher(settings: Settings) -> Fetcher:
    """A thread-safe function from a model to its snapshot, by these settings.

    Offline it knows the embedded snapshots and raises HubUnreachable ("offline") for other
    models. Online it reads the Hub, and falls back on an embedded snapshot of the default
    branch when the Hub is away, refuses for now, or keeps the model behind a gate. The
    fetcher raises ModelUnreadable.
    """
    embedded = EmbeddedSnapshots(settings.snapshots_folder)

    def lookup(ref: ModelRef) -> RepoSnapshot | None:
        return _of_default_branch(embedded, ref)

    if settings.offline:
        stored = Completion(lookup, lambda ref: _embedded_only(embedded, ref))
        return lambda ref: stored(ref, stored.read(ref))
    limits = Limits(model_seconds=settings.timeout_seconds)
    session = HubSession(
        settings.endpoint,
        parallel_reads=limits.parallel_reads,
        cdn_origins=settings.cdn_origins,
        ca_bundle=settings.ca_bundle,
    )
    recent = Recent[ModelRef, RepoSnapshot](lambda ref: fetch_snapshot(ref, session, limits))
    complete = Completion(lookup, recent)

    def fetch(ref: ModelRef) -> RepoSnapshot:
        try:
            return complete(ref, recent(ref))
        except _EXCUSED:
            snapshot = lookup(ref)
            if snapshot is None:
                raise
            return complete(ref, snapshot)

    return fetch


def _embedded_only(embedded: EmbeddedSnapshots, ref: ModelRef) -> RepoSnapshot:
    snapshot = _of_default_branch(embedded, ref)
    if snapshot is None:
        raise HubUnreachable(repo_id=ref.repo_id, reason="offline")
    return snapshot


def _of_default_branch(embedded: EmbeddedSnapshots, ref: ModelRef) -> RepoSnapshot | None:
    """The embedded snapshot, unless another branch, tag or commit is asked for."""
    snapshot = embedded.get(ref.repo_id)
    if snapshot is None or ref.revision not in (None, DEFAULT_BRANCH, snapshot.sha):
        return None
    return snapshot
