"""ListedFiles: checks of responses against sizes and hashes in the file list. Pure.

A cache, a proxy or a busy server may send a 404, another page, half a file or an empty body for a
file, even with the status 200. The size and hash of every file in the list detect this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from gpusizer.core.errors import HubUnreachable, LimitsExceeded, MalformedRepo
from scrapers.client.http_response import HubRequest, HubResponse
from scrapers.formats.json_files import parse_object
from scrapers.formats.shard_index import parse_index
from scrapers.formats.weight_sets import RepoFile
from scrapers.limits import Limits


class ListedFiles:
    """The files of one commit by their paths.

    The checks return the response or raise HubUnreachable ("unexpected_answer", "truncated"). A
    size or hash that the list does not have is not checked.
    """

    def __init__(self, files: Iterable[RepoFile], repo_id: str) -> None:
        self.files = {file.path: file for file in files}
        self._repo_id = repo_id

    def __contains__(self, path: str) -> bool:
        return path in self.files

    def is_in_git(self, path: str) -> bool:
        """Whether git holds the file itself; in LFS it holds a pointer."""
        file = self.files.get(path)
        return file is not None and file.blob_id is not None

    def check_whole(self, request: HubRequest, response: HubResponse) -> HubResponse:
        """Check the response for a whole file."""
        reason = self.contradiction(request.resource.path, response.body)
        if reason is not None:
            raise HubUnreachable(repo_id=self._repo_id, reason=reason)
        return response

    def check_range(self, request: HubRequest, response: HubResponse) -> HubResponse:
        """Check the response for a range: the size of the file and the length of the range."""
        listed = self.files.get(request.resource.path)
        size_bytes = listed.size_bytes if listed else None
        total_bytes = response.total_bytes
        if size_bytes is not None and total_bytes not in (None, size_bytes):
            raise HubUnreachable(repo_id=self._repo_id, reason="unexpected_answer")
        whole_bytes = total_bytes if size_bytes is None else size_bytes
        if whole_bytes is not None and request.span is not None:
            start, stop = request.span
            if len(response.body) != max(min(stop, whole_bytes) - start, 0):
                raise HubUnreachable(repo_id=self._repo_id, reason="truncated")
        return response

    def contradiction(self, path: str, body: bytes) -> str | None:
        """Return how `body` contradicts the listed file, None if it does not."""
        listed = self.files.get(path)
        if listed is None:
            return None
        if listed.size_bytes is not None and len(body) < listed.size_bytes:
            return "truncated"
        if listed.size_bytes not in (None, len(body)):
            return "unexpected_answer"
        if listed.sha256 is not None:
            is_same = hashlib.sha256(body).hexdigest() == listed.sha256
        elif listed.blob_id is not None:
            is_same = git_blob_id(body) == listed.blob_id
        # A JSON file that is listed without a hash has to be a JSON object.
        else:
            is_same = _is_object(path, body)
        return None if is_same else "unexpected_answer"


def git_blob_id(content: bytes) -> str:
    """Return git's blob ID of a file's content: SHA-1 of a header and the bytes."""
    digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def _is_object(path: str, body: bytes) -> bool:
    if not path.endswith(".json"):
        return True
    try:
        if path.endswith(".index.json"):
            parse_index(body, Limits(), "", path)
        else:
            parse_object(body, "", path)
    except MalformedRepo:
        return False
    except LimitsExceeded:
        return True
    return True
