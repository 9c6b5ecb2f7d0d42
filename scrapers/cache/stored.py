"""EmbeddedSnapshots and StoredSnapshots: models that are known without the Hub."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    ModelUnreadable,
    PrivateOrMissing,
)
from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import DEFAULT_BRANCH, ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.disk_entries import DiskEntries
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.repository.completion import Completion

INDEX_FILE = "index.json"


class EmbeddedSnapshots:
    """A folder with a JSON file for each model's snapshot, and an index of their names.

    The index is `{"models": {repo_id: file name}, "aliases": {former repo_id: repo_id}}`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ids(self) -> tuple[str, ...]:
        """Return every model's ID, sorted without regard to case."""
        return tuple(sorted(self._index["models"], key=str.casefold))

    def get(self, repo_id: str) -> RepoSnapshot | None:
        """Return the snapshot of a model by its current or a former ID, in any case of letters."""
        name = self._files.get(repo_id.casefold())
        if name is None:
            return None
        return RepoSnapshot.from_json(json.loads((self.folder / name).read_text("utf-8")))

    @cached_property
    def _index(self) -> dict[str, dict[str, str]]:
        path = self.folder / INDEX_FILE
        if not path.is_file():
            return {"models": {}, "aliases": {}}
        index: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8"))
        return index

    @cached_property
    def _files(self) -> dict[str, str]:
        models = self._index["models"]
        files = {repo_id.casefold(): name for repo_id, name in models.items()}
        former = self._index["aliases"].items()
        return {alias.casefold(): models[repo_id] for alias, repo_id in former} | files


# The Hub cannot be reached now: its last response is the best information.
UNAVAILABLE = (HubUnreachable, HubRateLimited)
# Errors that do not mean that the model is invalid: an embedded snapshot replaces the Hub's.
REPLACEABLE = (*UNAVAILABLE, GatedModel, PrivateOrMissing)


class StoredSnapshots:
    """The last responses of the Hub in a cache, and the embedded snapshots.

    A call answers in offline mode. It raises HubUnreachable ("offline") for a model that is not
    stored, and the errors of completing an adapter.
    """

    def __init__(self, embedded: EmbeddedSnapshots, cache: SnapshotCache | None) -> None:
        self._embedded = embedded
        self._cache = cache

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        offline = HubUnreachable(repo_id=ref.repo_id, reason="offline")
        stored = self.in_place_of(ref, offline)
        if stored is None:
            raise offline
        return Completion(self.embedded, self._last_read)(ref, stored)

    def in_place_of(self, ref: ModelRef, error: ModelUnreadable) -> RepoSnapshot | None:
        """Return the stored snapshot of a model that cannot be read now."""
        last_known = self.last_known(ref) if isinstance(error, UNAVAILABLE) else None
        return last_known.with_source("cache") if last_known else self.embedded(ref)

    def last_known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the snapshot of the Hub's last response for a model."""
        return None if self._cache is None else self._cache.last_known(ref)

    def embedded(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the embedded snapshot, None if another branch, tag or commit is requested."""
        snapshot = self._embedded.get(ref.repo_id)
        if snapshot is None or ref.revision not in (None, DEFAULT_BRANCH, snapshot.sha):
            return None
        if ref.file is not None and ref.file not in _files_of(snapshot):
            return snapshot.with_notes(Note("file_not_looked_at", file=ref.file))
        return snapshot

    def _last_read(self, ref: ModelRef) -> RepoSnapshot:
        last_known = self.last_known(ref)
        if last_known is None:
            raise HubUnreachable(repo_id=ref.repo_id, reason="offline")
        return last_known


def _files_of(snapshot: RepoSnapshot) -> frozenset[str]:
    files = [*snapshot.uncounted_files]
    files += (file for component in snapshot.components for file in component.files)
    files += (file for variant in snapshot.variants for file in variant.files)
    return frozenset(file.path for file in files)


def cache_on_disk(settings: Settings) -> SnapshotCache | None:
    """Return the cache in the folder of the settings; None without a folder."""
    if settings.cache_folder is None:
        return None
    return SnapshotCache(
        DiskEntries(settings.cache_folder, settings.cache_bytes), settings.endpoint
    )
