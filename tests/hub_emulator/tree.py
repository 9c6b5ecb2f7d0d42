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
    recursive = request.flag("recursive")
    paths = _listed(repo, folder, recursive)
    if folder and not paths:
        raise refusals.entry_not_found(repo.sha)
    size = min(options.page_size, *map(int, request.values("limit")), options.page_size)
    start = sum(_offset(cursor) for cursor in request.values("cursor"))
    page = [_entry(repo, path) for path in paths[start : start + size]]
    headers = {}
    if start + size < len(paths):
        cursor = base64.urlsafe_b64encode(str(start + size).encode()).decode()
        query = {"recursive": recursive, "limit": size, "cursor": cursor}
        headers["Link"] = f'<{endpoint}{request.path}?{urlencode(query)}>; rel="next"'
    return json_answer(page, headers=headers)


def _entry(repo: FakeRepo, path: str) -> dict[str, Any]:
    """One file or folder of the tree."""
    fields: dict[str, Any]
    file = repo.files.get(path)
    if file is None:
        fields = {"type": "directory", "oid": commit_sha(path), "size": 0, "path": path}
    else:
        fields = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
        if file.lfs:
            fields["lfs"] = {"oid": file.sha256, **lfs_info(file)}
    return fields


def _folders_of(repo: FakeRepo) -> set[str]:
    """Every folder of the repository, parents included."""
    return {
        path[:end] for path in repo.files for end, character in enumerate(path) if character == "/"
    }


def _listed(repo: FakeRepo, folder: str, recursive: bool) -> list[str]:
    """Paths below a folder: level by level, folders before files."""
    prefix = f"{folder}/" if folder else ""
    folders = _folders_of(repo)
    inside = [path for path in [*folders, *repo.files] if path.startswith(prefix)]
    depth = prefix.count("/")
    paths = inside if recursive else [path for path in inside if path.count("/") == depth]
    return sorted(paths, key=lambda path: (path.count("/"), path not in folders, path))


def _offset(cursor: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor))
    except ValueError:
        raise refusals.refuse(400, "Invalid cursor") from None
