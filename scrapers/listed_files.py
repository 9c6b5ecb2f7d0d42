"""ListedFiles: what the file list says of each file, against which its bytes are checked. Pure.

A cache, a proxy or a busy server may answer for a file with a 404, another page, half of it or
nothing at all, and still say 200. The list names every file with its size and a hash of its
content, so that such an answer is known for what it is: no answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from gpusizer.core.errors import HubUnreachable, LimitsExceeded, MalformedRepo
from scrapers.http_response import HubRequest, HubResponse
from scrapers.json_files import parse_object
from scrapers.limits import Limits
from scrapers.shard_index import parse_index
from scrapers.weight_sets import RepoFile


class ListedFiles:
    """The files of one commit by their paths.

    Its checks return the answer, or raise HubUnreachable ("unexpected_answer", "truncated"). Of
    a file that is not listed, or listed without a size or hash, only the rest is checked.
    """

    def __init__(self, files: Iterable[RepoFile], repo_id: str) -> None:
        self._files = {file.path: file for file in files}
        self._repo_id = repo_id

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def check_whole(self, request: HubRequest, response: HubResponse) -> HubResponse:
        """Check an answer with a whole file."""
        reason = self.contradiction(request.resource.path, response.body)
        if reason is not None:
            raise HubUnreachable(repo_id=self._repo_id, reason=reason)
        return response

    def check_range(self, request: HubRequest, response: HubResponse) -> HubResponse:
        """Check an answer with a part of a file: the size of the whole, the length of the part."""
        listed = self._files.get(request.resource.path)
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
        """Why these bytes are not the listed file; None where they may be.

        What cannot be told by a hash has at least to be a JSON object, where JSON is listed.
        """
        listed = self._files.get(path)
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
        else:
            is_same = _is_object(path, body)
        return None if is_same else "unexpected_answer"


def git_blob_id(content: bytes) -> str:
    """The name that git gives to a file's content: SHA-1 over a header and the bytes."""
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
