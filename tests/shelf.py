"""A shelf of made-up snapshots, in place of those that come with gpusizer."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.hub.snapshot import RepoSnapshot


class MadeUpShelf:
    """Snapshots by their IDs, which are all different."""

    def __init__(self, *repositories: RepoSnapshot) -> None:
        self._repositories = {repository.repo_id: repository for repository in repositories}
        assert len(self._repositories) == len(repositories)

    def ids(self) -> Sequence[str]:
        """Every ID, in the order of the arguments."""
        return tuple(self._repositories)

    def get(self, repo_id: str) -> RepoSnapshot | None:
        """Return the snapshot of an ID."""
        return self._repositories.get(repo_id)
