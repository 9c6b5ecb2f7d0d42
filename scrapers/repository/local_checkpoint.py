"""Checkpoints on this machine, which the shell accepts in place of a model ID."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpusizer.core.errors import RevisionNotFound
from gpusizer.hub.model_ref import DEFAULT_BRANCH, ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.limits import Limits
from scrapers.repository.completion import Completion
from scrapers.repository.hub import build_snapshot
from scrapers.repository.local_files import LocalFiles
from scrapers.repository.local_refs import CACHED_MODEL, LocalRef

Fetch = Callable[[ModelRef], RepoSnapshot]

_COMMIT = re.compile(r"[0-9a-f]{40}")
_LIMITS = Limits()


def with_local_checkpoints(fetch: Fetch, limits: Limits = _LIMITS) -> Fetch:
    """Return a fetcher that reads checkpoints on disk, and calls `fetch` for all other models."""
    # For an adapter on disk it calls `fetch` with the base model.
    complete = Completion(embedded=lambda ref: None, read=fetch)

    def read(ref: ModelRef) -> RepoSnapshot:
        if isinstance(ref, LocalRef):
            return complete(ref, read_checkpoint(ref, limits))
        return fetch(ref)

    return read


def read_checkpoint(ref: LocalRef, limits: Limits = _LIMITS) -> RepoSnapshot:
    """Read the facts of a checkpoint on disk.

    Raises RevisionNotFound for a commit that the Hub's cache does not have, and, like the reading
    of a repository, NoWeights, MalformedRepo, LimitsExceeded and UnsupportedDtype.
    """
    folder, sha = _commit_folder(ref) if ref.path.is_dir() else (ref.path.parent, None)
    only = None if ref.path.is_dir() else ref.path.name
    files = LocalFiles(folder, ref.repo_id, sha or _sha_of(folder), limits, only)
    snapshot = build_snapshot(files, ref).with_source("local")
    if ref.revision is None and sha is None and snapshot.sha is not None:
        return replace(snapshot, revision=snapshot.sha)  # the path is the folder of one commit
    return snapshot


def _commit_folder(ref: LocalRef) -> tuple[Path, str | None]:
    # None as the commit of a folder outside of the Hub's cache.
    snapshots = ref.path / "snapshots"
    if not CACHED_MODEL.fullmatch(ref.path.absolute().name) or not snapshots.is_dir():
        if ref.revision is not None:
            raise RevisionNotFound(repo_id=ref.repo_id, revision=ref.revision)
        return ref.path, None
    revision = ref.revision or DEFAULT_BRANCH
    branch = ref.path / "refs" / revision
    sha = revision
    if ".." not in revision.split("/") and branch.is_file():
        with branch.open(encoding="utf-8", errors="replace") as opened:
            sha = opened.read(64).strip()
    if not _COMMIT.fullmatch(sha) or not (snapshots / sha).is_dir():
        raise RevisionNotFound(repo_id=ref.repo_id, revision=revision)
    return snapshots / sha, sha


def _sha_of(folder: Path) -> str | None:
    # None for a folder outside of the Hub's cache.
    folder = folder.absolute()
    in_cache = folder.parent.name == "snapshots" and CACHED_MODEL.fullmatch(
        folder.parent.parent.name
    )
    return folder.name if in_cache and _COMMIT.fullmatch(folder.name) else None
