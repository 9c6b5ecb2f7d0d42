"""AnswerCache: a cache of the JSON that `/size_model` returns, shared by all callers."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Mapping
from typing import Any

from cachetools import LRUCache

from gpusizer.answers.request import SizeRequest
from gpusizer.answers.sizer import Sizer
from gpusizer.core.paths import data_version
from gpusizer.text import say_note

_MAX_CHARACTERS = 16_000_000
"""Characters of JSON in the cache; one answer has 80,000 to 570,000."""


class AnswerCache:
    """A least-recently-used cache in front of `Sizer.size`.

    The snapshot is fetched for every request, so that a new commit, a gate or a failure shows at
    once. An answer depends on the request, the snapshot and the files of `data/`; commit, source
    and time of reading identify a snapshot. Requests that list published quantizations read more
    from the Hub than the snapshot and are never cached. Requests with a visitor's token must not
    use this cache, because all callers share it.
    """

    def __init__(self, sizer: Sizer, max_characters: int = _MAX_CHARACTERS) -> None:
        self._sizer = sizer
        self._data_version = data_version()
        self._lock = threading.Lock()
        self._texts: LRUCache[Hashable, str] = LRUCache(max_characters, getsizeof=len)

    def size(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of the answer. Raises any GpusizerError, as `Sizer.size` does."""
        request = SizeRequest.from_fields(fields)
        if request.quantized_repos:
            return self._sizer.size(fields).to_json(say_note)
        snapshot = self._sizer.snapshot(request)
        commit = snapshot.sha, snapshot.source, snapshot.retrieved_at
        key = request, commit, self._data_version
        with self._lock:
            text = self._texts.get(key)
        if text is not None:
            cached: dict[str, Any] = json.loads(text)
            return cached
        answer = self._sizer.reading(lambda _: snapshot).size(fields).to_json(say_note)
        self._store(key, json.dumps(answer, ensure_ascii=False))
        return answer

    def _store(self, key: Hashable, text: str) -> None:
        with self._lock:
            if len(text) <= self._texts.maxsize:
                self._texts[key] = text
