"""Entries of the file tree, page by page."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

from tests.hub_emulator import refusals
from tests.hub_emulator.info import lfs_info
from tests.hub_emulator.messages import Answer, Request, json_answer
from tests.hub_emulator.options import Options
from tests.hub_emulator.repos import FakeRepo, commit_sha


def tree_page(
    repo: FakeRepo, folder: str, request: Request, options: Options, endpoint: str
) -> Answer:
    """One page of a folder's entries, with a Link header to the next."""
    recursive, expand = request.flag("recursive"), request.flag("expand")
    paths = _listed(repo, folder, recursive)
    if folder and not paths:
        raise refusals.entry_not_found(repo.sha)
    size = options.expanded_page_size if expand else options.page_size
    size = min(size, *(int(limit) for limit in request.values("limit")), size)
    start = sum(_offset(cursor) for cursor in request.values("cursor"))
    page = [entry(repo, path, expand) for path in paths[start : start + size]]
    headers = {}
    if start + size < len(paths):
        cursor = base64.urlsafe_b64encode(str(start + size).encode()).decode()
        query = {"recursive": recursive, "expand": expand, "limit": size, "cursor": cursor}
        headers["Link"] = f'<{endpoint}{request.path}?{urlencode(query)}>; rel="next"'
    return json_answer(page, headers=headers)


def entry(repo: FakeRepo, path: str, expand: bool = False) -> dict[str, Any]:
    """One file or folder of the tree; `expand` adds its last commit and its scan."""
    fields: dict[str, Any]
    file = repo.files.get(path)
    if file is None:
        fields = {"type": "directory", "oid": commit_sha(path), "size": 0, "path": path}
    else:
        fields = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
        if file.lfs:
            fields["lfs"] = {"oid": file.sha256, **lfs_info(file)}
    if expand:
        fields["lastCommit"] = {"id": repo.sha, "title": "Add files", "date": repo.last_modified}
    if expand and file is not None:
        fields["securityFileStatus"] = {
            "status": "safe",
            "avScan": {"virusFound": False, "virusNames": None},
            "pickleImportScan": None,
        }
    return fields


def folders_of(repo: FakeRepo) -> set[str]:
    """Every folder of the repository, parents included."""
    return {
        path[:end] for path in repo.files for end, character in enumerate(path) if character == "/"
    }


def _listed(repo: FakeRepo, folder: str, recursive: bool) -> list[str]:
    """Paths below a folder: level by level, folders before files."""
    prefix = f"{folder}/" if folder else ""
    folders = folders_of(repo)
    inside = [path for path in [*folders, *repo.files] if path.startswith(prefix)]
    depth = prefix.count("/")
    paths = inside if recursive else [path for path in inside if path.count("/") == depth]
    return sorted(paths, key=lambda path: (path.count("/"), path not in folders, path))


def _offset(cursor: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor))
    except ValueError:
        raise refusals.refuse(400, "Invalid cursor") from None
