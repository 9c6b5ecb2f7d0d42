"""EmbeddedSnapshots: snapshots of well-known models that ship with gpusizer.

They are used when the Hub cannot be reached.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

from gpusizer.hub.snapshot import RepoSnapshot

INDEX_FILE = "index.json"


class EmbeddedSnapshots:
    """A folder with one JSON file for each model's snapshot, and an index of their names.

    The index is `{"models": {repo_id: file name}, "aliases": {former repo_id: repo_id}}`. It is
    read on first use; each snapshot is read when it is requested.
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
