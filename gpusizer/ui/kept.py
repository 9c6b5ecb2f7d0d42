"""KeptAnswers: what was answered is answered again while the model stays the same."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from gpusizer.request import SizeRequest, parse_size_request
from gpusizer.sizer import Sizer
from gpusizer.snapshot import RepoSnapshot
from gpusizer.text import say_note

_ENTRIES = 64
_LONGEST = 600_000  # characters of JSON; with every GPU an answer has 200,000 to 570,000


class KeptAnswers:
    """Answers of `Sizer.size` as JSON, the last few of them kept as text.

    The snapshot is fetched for every question, so a new commit, a gate or a failure shows at
    once; an answer is a function of the request and of it. Not so with a listing of published
    quantizations, which the Hub is asked for. For questions that everybody may ask: whoever
    has rights of their own must not get here.
    """

    def __init__(self, sizer: Sizer, entries: int = _ENTRIES) -> None:
        self._sizer = sizer
        self._entries = entries
        self._lock = threading.Lock()
        self._kept: OrderedDict[SizeRequest, tuple[RepoSnapshot, str]] = OrderedDict()

    def size(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, the caller's to change. Raises any GpusizerError, as `Sizer.size` does."""
        request = parse_size_request(fields)
        if request.quantized_repos:
            return self._sizer.size(fields).to_json(say_note)
        snapshot = self._sizer.snapshot(request)
        text = self._find(request, snapshot)
        if text is not None:
            known: dict[str, Any] = json.loads(text)
            return known
        answer = self._sizer.reading(lambda _: snapshot).size(fields).to_json(say_note)
        self._keep(request, snapshot, json.dumps(answer, ensure_ascii=False))
        return answer

    def _find(self, request: SizeRequest, snapshot: RepoSnapshot) -> str | None:
        with self._lock:
            kept = self._kept.get(request)
            if kept is None or kept[0] != snapshot:
                return None
            self._kept.move_to_end(request)
            return kept[1]

    def _keep(self, request: SizeRequest, snapshot: RepoSnapshot, text: str) -> None:
        if len(text) > _LONGEST:
            return
        with self._lock:
            self._kept[request] = snapshot, text
            self._kept.move_to_end(request)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
