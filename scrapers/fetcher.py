"""Fetcher: the one object the rest of gpusizer reads models with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
    RevisionNotFound,
)
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.completion import Completion
from scrapers.disk_cache import COMMIT_SECONDS, DiskCache
from scrapers.embedded import EmbeddedSnapshots
from scrapers.gguf_tokenizer import TokenizerSections
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from scrapers.hub_calls import OnCall, ignore_call
from scrapers.limits import Limits
from scrapers.repo_reader import DEFAULT_BRANCH
from scrapers.single_flight import SingleFlight
from scrapers.tokens import check_token

# The Hub cannot be asked now: what it said last is the best there is.
_AWAY = (HubUnreachable, HubRateLimited)
# Failures that say nothing against the model: an embedded copy answers the question.
_EXCUSED = (*_AWAY, GatedModel, PrivateOrMissing)
# The Hub no longer shows it to everybody: neither do we.
_WITHDRAWN = (GatedModel, PrivateOrMissing, ModelNotFound, RevisionNotFound)


class Fetcher:
    """From a model to its snapshot, by these settings. Safe to share between threads.

    Anonymous questions are answered from memory, then from disk, then by the Hub; those
    asked at the same time share one reading. When the Hub is away or rate-limits, the last
    answer stands in, with source "cache"; failing that an embedded snapshot of the default
    branch, which also does for a model behind a gate. Offline only these two are looked at.

    A question with a token is always put to the Hub, and its answer kept nowhere.
    """

    def __init__(self, settings: Settings, on_call: OnCall = ignore_call) -> None:
        self._embedded = EmbeddedSnapshots(settings.snapshots_folder)
        self._disk: DiskCache | None = None
        if settings.cache_folder is not None:
            self._disk = DiskCache(settings.cache_folder, settings.cache_bytes, settings.endpoint)
        self._offline = settings.offline
        self._host_token = check_token(settings.host_token)
        self._limits = Limits(model_seconds=settings.timeout_seconds)
        self._session = HubSession(
            settings.endpoint,
            cdn_origins=settings.cdn_origins,
            tokenizers=_tokenizers(self._disk),
            on_call=on_call,
        )
        self._snapshots = SingleFlight[ModelRef, RepoSnapshot](
            self._for_all, seconds=COMMIT_SECONDS
        )

    def __call__(self, ref: ModelRef, token: str | None = None) -> RepoSnapshot:
        """The snapshot. Raises ModelUnreadable, InvalidRequest for an impossible token."""
        visitor = check_token(token)
        try:
            if self._offline:
                raise HubUnreachable(repo_id=ref.repo_id, reason="offline")
            if visitor is not None:
                return self._completed(ref, self._for(ref, visitor), visitor)
            return self._completed(ref, self._snapshots(ref), None)
        except _EXCUSED as error:
            snapshot = self._stand_in(ref, error)
            if snapshot is None:
                raise
            return self._completed(ref, snapshot, None)

    def _for(self, ref: ModelRef, visitor: str) -> RepoSnapshot:
        return fetch_snapshot(ref, self._session, self._limits, visitor)

    def _completed(
        self, ref: ModelRef, snapshot: RepoSnapshot, visitor: str | None
    ) -> RepoSnapshot:
        """With the base of an adapter, or what a gate hides, read with the same rights."""

        def read(other: ModelRef) -> RepoSnapshot:
            if visitor is not None:
                return self._for(other, visitor)
            try:
                if self._offline:
                    raise HubUnreachable(repo_id=other.repo_id, reason="offline")
                return self._snapshots(other)
            except _AWAY:
                known = self._disk.last_known(other) if self._disk else None
                if known is None:
                    raise
                return known

        return Completion(self._of_default_branch, read)(ref, snapshot)

    def for_visitor(self, token: str | None) -> Callable[[ModelRef], RepoSnapshot]:
        """The fetcher of one visitor's request, asked with that visitor's rights."""
        return partial(self.__call__, token=token)

    def _for_all(self, ref: ModelRef) -> RepoSnapshot:
        """An answer that everybody may have: from disk while it is fresh, else from the Hub."""
        disk = self._disk
        if disk is None:
            return self._read(ref, None)
        fresh = disk.fresh(ref)
        if fresh is not None:
            return fresh
        try:
            snapshot = self._read(ref, disk.last_known(ref))
        except _WITHDRAWN:
            disk.forget(ref)
            raise
        disk.store(ref, snapshot)
        return snapshot

    def _read(self, ref: ModelRef, known: RepoSnapshot | None) -> RepoSnapshot:
        return fetch_snapshot(
            ref,
            self._session,
            self._limits,
            host_token=self._host_token,
            last_known=known,
            is_probably_gated=self._is_probably_gated(ref),
        )

    def _is_probably_gated(self, ref: ModelRef) -> bool:
        """Whether the embedded copy was behind a gate when it was made."""
        snapshot = self._embedded.get(ref.repo_id)
        return snapshot is not None and snapshot.gated

    def _stand_in(self, ref: ModelRef, error: ModelUnreadable) -> RepoSnapshot | None:
        known = None
        if self._disk is not None and isinstance(error, _AWAY):
            known = self._disk.last_known(ref)
        return known.with_source("cache") if known else self._of_default_branch(ref)

    def _of_default_branch(self, ref: ModelRef) -> RepoSnapshot | None:
        """The embedded snapshot, unless another branch, tag or commit is asked for."""
        snapshot = self._embedded.get(ref.repo_id)
        if snapshot is None or ref.revision not in (None, DEFAULT_BRANCH, snapshot.sha):
            return None
        return snapshot


def _tokenizers(disk: DiskCache | None) -> TokenizerSections:
    return TokenizerSections(disk.tokenizer, disk.store_tokenizer) if disk else TokenizerSections()


def build_fetcher(settings: Settings, on_call: OnCall = ignore_call) -> Fetcher:
    """A thread-safe function from a model to its snapshot, by these settings.

    `on_call` is told of every request to the Hub.
    """
    return Fetcher(settings, on_call)
