"""Fetcher: reads models for the rest of gpusizer."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Self

from gpusizer.core.cpu_limiter import CPU_LIMITER
from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
    RevisionNotFound,
)
from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.core.tokens import check_token
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import OnStep, ignore_step
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.hub_access import HubAccess, open_own_access
from scrapers.cache.single_flight import SingleFlight, memory_bytes
from scrapers.cache.snapshot_cache import COMMIT_SECONDS, SnapshotCache
from scrapers.cache.stored import REPLACEABLE, UNAVAILABLE, EmbeddedSnapshots, StoredSnapshots
from scrapers.client.allowance import OnCall, ignore_call
from scrapers.limits import Limits
from scrapers.repository.completion import Completion
from scrapers.repository.hub import fetch_snapshot
from scrapers.repository.read_steps import Watchers

# The model is no longer public: its cached snapshot is removed.
_WITHDRAWN = (GatedModel, PrivateOrMissing, ModelNotFound, RevisionNotFound)

# Bytes of the snapshots that a process holds. One takes 10,000 to 200,000 bytes as a rule, and may
# take 1,000 times as much by the limits of a configuration.
_HELD_BYTES = 32_000_000


class _AllowanceLow(HubRateLimited):
    """Raised for a known model, without a request, if little of the Hub's allowance is left."""


class Fetcher:
    """Reader of models' snapshots. Safe to share between threads.

    Anonymous requests are answered from memory, then from the cache (on disk or shared), then by
    the Hub. Simultaneous requests for one model share one read, also across processes with the same
    Redis. A request with a token is always sent to the Hub, and its result is not cached.

    If the Hub is unreachable, limits the rate or allows few more requests, the last cached snapshot
    is returned with source "cache", else the embedded snapshot of the default branch. The embedded
    snapshot also replaces that of a gated model. Offline mode uses only these two.
    """

    # `on_call` is called for every request to the Hub; `access` is shared with other readers.
    # `own_token` belongs to a process with one user, as the shell: public models are shared as
    # above, others are read again with that user's rights.
    def __init__(
        self,
        settings: Settings,
        on_call: OnCall = ignore_call,
        access: HubAccess | None = None,
        own_token: str | None = None,
    ) -> None:
        access = access or open_own_access(settings)
        self._cache, self._flights = access.cache, access.flights
        self._stored = StoredSnapshots(EmbeddedSnapshots(settings.snapshots_folder), access.cache)
        self._allowance = access.allowance
        self._offline = settings.offline
        self._own_token = check_token(own_token)
        self._host_token = self._own_token or check_token(settings.host_token)
        self._limits = Limits(model_seconds=settings.timeout_seconds)
        self._session = access.open_session(settings, on_call)
        self._visitor_token: str | None = None
        self._on_step: OnStep = ignore_step
        self._watchers = Watchers()
        self._snapshots = SingleFlight[ModelRef, RepoSnapshot](
            self._read_for_everyone,
            seconds=COMMIT_SECONDS,
            computing=CPU_LIMITER.looking_up,
            waiting=CPU_LIMITER.waiting,
            weigh=memory_bytes,
            max_bytes=_HELD_BYTES,
        )

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot. Raises ModelUnreadable, and InvalidRequest for a malformed token."""
        visitor_token = check_token(self._visitor_token)
        if self._offline:
            return self._stored(ref)
        try:
            snapshot = self._read_with_rights(ref, visitor_token)
            return self._completed(ref, snapshot, visitor_token)
        except REPLACEABLE as error:
            replacement = self._fallback(ref, error)
            if replacement is None:
                raise
            return self._completed(ref, replacement, None)

    def known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the result of a call without a token if it needs no request, else None."""
        if self._offline:
            try:
                return self._stored(ref)
            except ModelUnreadable:
                return None
        has_token = self._own_token is not None or self._visitor_token is not None
        # Only a public snapshot that needs no second repository is known.
        snapshot = None if has_token else self._snapshots.known(ref)
        needs_another = snapshot is not None and (snapshot.gated or snapshot.format == "adapter")
        return None if needs_another else snapshot

    def _read_with_rights(self, ref: ModelRef, visitor_token: str | None) -> RepoSnapshot:
        if visitor_token is not None:
            return self._read_for_visitor(ref, visitor_token)
        if self._own_token is None:
            return self._shared(ref)
        try:
            snapshot = self._shared(ref)
        except HubRateLimited:  # or not public, see `Tokens`
            return self._read_for_visitor(ref, self._own_token)
        if not snapshot.gated:
            return snapshot
        return self._read_for_visitor(ref, self._own_token)

    def _read_for_visitor(self, ref: ModelRef, visitor_token: str) -> RepoSnapshot:
        with CPU_LIMITER.reading():
            return fetch_snapshot(
                ref, self._session, self._limits, visitor_token, on_step=self._on_step
            )

    def _shared(self, ref: ModelRef) -> RepoSnapshot:
        with self._watchers.watching(ref, self._on_step):
            return self._snapshots(ref)

    def _completed(
        self, ref: ModelRef, snapshot: RepoSnapshot, visitor_token: str | None
    ) -> RepoSnapshot:
        # An adapter's base or a gated model's tensors are read with the same rights.
        def read(other_ref: ModelRef) -> RepoSnapshot:
            try:
                return self._read_with_rights(other_ref, visitor_token)
            except UNAVAILABLE:
                if visitor_token is not None:
                    raise
                last_known = self._stored.last_known(other_ref)
                if last_known is None:
                    raise
                return last_known

        return Completion(self._stored.embedded, read)(ref, snapshot)

    def for_visitor(self, token: str | None) -> Self:
        """Return a fetcher whose requests carry one visitor's token."""
        other = copy(self)
        other._visitor_token = token
        return other

    def watched(self, on_step: OnStep) -> Self:
        """Return a fetcher of the same snapshots that reports its steps to `on_step`."""
        other = copy(self)
        other._on_step = on_step
        return other

    def _read_for_everyone(self, ref: ModelRef) -> RepoSnapshot:
        # From the cache until it expires, else from the Hub.
        cache = self._cache
        if cache is None:
            self._check_allowance(ref)
            with CPU_LIMITER.reading():
                return self._read(ref, None)
        fresh = cache.fresh(ref)
        if fresh is not None:
            return fresh
        self._check_allowance(ref)
        name = cache.flight_name(ref)
        with CPU_LIMITER.reading():
            if self._flights is None:
                return self._read_into(cache, ref)
            return self._flights.land(
                name, lambda: cache.fresh(ref), lambda: self._read_into(cache, ref)
            )

    def _read_into(self, cache: SnapshotCache, ref: ModelRef) -> RepoSnapshot:
        # A model that is no longer public is removed from the cache.
        try:
            snapshot = self._read(ref, cache.last_known(ref))
        except _WITHDRAWN:
            cache.forget(ref)
            raise
        cache.store(ref, snapshot)
        return snapshot

    def _check_allowance(self, ref: ModelRef) -> None:
        # Raises _AllowanceLow for a known model if the Hub allows few more requests, and
        # HubRateLimited for any model if it allows none: every read begins with a request to the
        # API. Requests with the user's own token are not counted; those with the host's token may
        # need none.
        if self._own_token is not None:
            return
        seconds = self._allowance.low_seconds()
        if seconds > 0 and (self._stored.last_known(ref) or self._stored.embedded(ref)):
            raise _AllowanceLow(repo_id=ref.repo_id, retry_after_seconds=seconds)
        if not self._host_describes(ref):
            self._allowance.check("api", ref.repo_id)

    def _host_describes(self, ref: ModelRef) -> bool:
        # The description is requested with the user's own token, or with the host's if no anonymous
        # request is left.
        if self._own_token is not None or self._host_token is None:
            return self._own_token is not None
        try:
            self._allowance.check("api", ref.repo_id)
        except HubRateLimited:
            return True
        return False

    def _read(self, ref: ModelRef, last_known: RepoSnapshot | None) -> RepoSnapshot:
        return fetch_snapshot(
            ref,
            self._session,
            self._limits,
            host_token=self._host_token,
            host_describes=self._host_describes(ref),
            last_known=last_known,
            on_step=partial(self._watchers.tell, ref),
        )

    def _fallback(self, ref: ModelRef, error: ModelUnreadable) -> RepoSnapshot | None:
        stored = self._stored.in_place_of(ref, error)
        if stored is None or not isinstance(error, _AllowanceLow):
            return stored
        return stored.with_notes(Note("hub_allowance_low", date=stored.retrieved_at[:10]))
