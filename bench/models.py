"""Profiles of measured models, from the snapshots in the repository alone."""

from __future__ import annotations

from functools import cache

from gpusizer.paths import DATA_DIR
from gpusizer.profile import ModelProfile, build_profile
from gpusizer.snapshot import RepoSnapshot
from scrapers.embedded import EmbeddedSnapshots

FOLDERS = (DATA_DIR / "models", DATA_DIR / "measurements" / "models")
"""What gpusizer ships, and what only measurements need."""


@cache
def _sets() -> tuple[EmbeddedSnapshots, ...]:
    return tuple(EmbeddedSnapshots(folder) for folder in FOLDERS)


def known_ids() -> tuple[str, ...]:
    """Every model that a measurement can name as its profile."""
    return tuple(repo_id for snapshots in _sets() for repo_id in snapshots.ids())


def load_snapshot(repo_id: str) -> RepoSnapshot:
    """The snapshot of a measured model. Raises KeyError when there is none of that ID."""
    for snapshots in _sets():
        snapshot = snapshots.get(repo_id)
        if snapshot is not None:
            return snapshot
    raise KeyError(repo_id)


@cache
def load_profile(repo_id: str) -> ModelProfile:
    """The profile of a measured model. Raises KeyError when no snapshot has that ID."""
    return build_profile(load_snapshot(repo_id))
