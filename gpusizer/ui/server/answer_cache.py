"""Answers to programs' questions, computed with the rights of the caller.

The JSON of public answers is compressed, cached and shared by all callers.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from cachetools import LRUCache

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import Document
from gpusizer.core.cpu_limiter import CPU_LIMITER
from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.paths import code_version, data_version
from gpusizer.core.request_model import RequestModel
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Fetch, RepoSnapshot, known
from gpusizer.text import Language, say_note
from gpusizer.ui.server.work_pool import WorkPool
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES, Fields

# Returns a fetcher that reads with the rights of a visitor's Hub token.
ForVisitor = Callable[[str], Fetch]

# Memory of the answers in the cache; one takes 2,000 to 60,000 bytes, compressed.
_MAX_BYTES = 16_000_000

# measured bytes of an entry next to its answer: keys, versions and Python's objects
_ENTRY_BYTES = 1_500
_LEVEL = 6  # compression of an answer: a millisecond for 80 kB, to a tenth of the size


@dataclass(frozen=True, slots=True)
class Answer:
    """JSON of an answer, and whether it is public."""

    packed: bytes  # text in UTF-8, compressed by gzip
    # Hash of the request, its sources, and gpusizer's code and data: equal for equal answers.
    version: str
    # Every repository was read anonymously and is not gated, so that any cache may keep the answer
    # for some minutes.
    is_public: bool

    @property
    def text(self) -> bytes:
        """JSON text in UTF-8."""
        return gzip.decompress(self.packed)

    @property
    def etag(self) -> str:
        """Entity tag: weak, so that compressed and plain answers share it."""
        return f'W/"{self.version[:32]}"'

    def json(self) -> Document:
        """Return a copy of the answer."""
        answer: Document = json.loads(self.text)
        return answer


def answer_for_one(sizer: Sizer, question: str, fields: Fields, language: Language) -> Answer:
    """Return the answer for the visitor with whose rights `sizer` reads.

    Raises any GpusizerError.
    """
    text = _text(sizer, question, USE_CASES[question].request.from_fields(fields), language)
    return Answer(gzip.compress(text, _LEVEL), sha256(text).hexdigest(), is_public=False)


class AnswerCache:
    """A least-recently-used cache in front of the Sizer's use cases.

    Every repository that an answer was read from is fetched for each request, so that a new commit,
    a gate or a failure shows at once; only results computed from it are cached. Answers that read
    more from the Hub (listings of quantized or trending repositories), or that had to leave a model
    out, are not cached. Requests with a visitor's token must not use this cache, because all
    callers share it. `on_lookup` receives "hit", "miss" or "uncacheable".
    """

    def __init__(
        self,
        sizer: Sizer,
        max_bytes: int = _MAX_BYTES,
        on_lookup: Callable[[str], None] = lambda result: None,
    ) -> None:
        self._sizer = sizer
        self._on_lookup = on_lookup
        self._lock = threading.Lock()
        self._entries: LRUCache[str, _Entry] = LRUCache(max_bytes, getsizeof=_size_of)

    @property
    def answers(self) -> int:
        """Number of cached answers."""
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        """Memory of the compressed answers in bytes."""
        return int(self._entries.currsize)

    def answer(self, question: str, fields: Fields, language: Language = "en") -> Answer:
        """Return the answer to an anonymous question. Raises as the Sizer does."""
        request = USE_CASES[question].request.from_fields(fields)
        key, entry = self._find(question, request, language)
        reads = _Reads(self._sizer.fetch)
        if entry is not None and reads.find_again(entry.readings):
            self._on_lookup("hit")
            return entry.answer
        text = _text(self._sizer.reading(reads), question, request, language)
        asks_more = getattr(request, "quantized_repos", "") or getattr(request, "live", False)
        is_kept = reads.are_complete and not asks_more
        versions = sorted(version for version, _ in reads.readings.values())
        about = f"{key} {versions}" if is_kept else text.decode()
        version = sha256(f"{code_version()} {data_version()} {about}".encode())
        is_public = reads.are_complete and not reads.are_gated
        answer = Answer(gzip.compress(text, _LEVEL), version.hexdigest(), is_public)
        self._on_lookup("miss" if is_kept else "uncacheable")
        if is_kept:
            self._store(key, _Entry(answer, reads.readings))
        return answer

    def known(self, question: str, fields: Fields, language: Language = "en") -> Answer | None:
        """Return the cached answer if its repositories are known to be unchanged.

        None if something would have to be read or computed. Raises InvalidRequest.
        """
        request = USE_CASES[question].request.from_fields(fields)
        _, entry = self._find(question, request, language)
        if entry is None:
            return None
        for ref, reading in entry.readings.items():
            snapshot = known(self._sizer.fetch, ref)
            if snapshot is None or _reading_of(snapshot) != reading:
                return None
        self._on_lookup("hit")
        return entry.answer

    def _find(
        self, question: str, request: RequestModel, language: Language
    ) -> tuple[str, _Entry | None]:
        # A digest, because a request takes more memory than its compressed answer.
        key = sha256(f"{question} {request!r} {language}".encode()).hexdigest()
        with self._lock:
            return key, self._entries.get(key)

    def _store(self, key: str, entry: _Entry) -> None:
        with self._lock:
            if _size_of(entry) <= self._entries.maxsize:
                self._entries[key] = entry


class Answers:
    """Answers public questions: from the shared cache, or for one visitor alone."""

    def __init__(
        self,
        sizer: Sizer,
        for_visitor: ForVisitor,
        cache: AnswerCache,
        pool: WorkPool | None = None,
    ) -> None:
        """Answer in places of `pool`, by default one of its own."""
        self._sizer = sizer
        self._for_visitor = for_visitor
        self.cache = cache
        self.pool = pool or WorkPool()

    async def asked_by(
        self,
        visitor: str | None,
        question: str,
        fields: Fields,
        token: str | None,
        language: Language = "en",
    ) -> Answer:
        """Return the answer of `ask` for the visitor with this key.

        A cached answer neither waits for the visitor's other questions nor takes a turn. Raises
        also the errors of the pool's `refusal`.
        """
        if token is None:
            known_answer = await self.pool.briefly(
                lambda: self.cache.known(question, fields, language)
            )
            if known_answer is not None:
                return known_answer
        return await self.pool.run(visitor, lambda: self.ask(question, fields, token, language))

    def ask(
        self, question: str, fields: Fields, token: str | None, language: Language = "en"
    ) -> Answer:
        """Return the answer to a question, named as its command. Raises any GpusizerError.

        An answer that was read with a visitor's token is never cached.
        """
        with CPU_LIMITER.computing():
            if token is None:
                return self.cache.answer(question, fields, language)
            sizer = self._sizer.reading(self._for_visitor(token))
            return answer_for_one(sizer, question, fields, language)


_Readings = Mapping[ModelRef, tuple[str, str]]  # version and time of reading of each repository


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: Answer
    readings: _Readings


def _size_of(entry: _Entry) -> int:
    return len(entry.answer.packed) + _ENTRY_BYTES


class _Reads:
    """Reads the repositories of one answer, each once, and keeps the results."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._results: dict[ModelRef, RepoSnapshot | ModelUnreadable] = {}

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        result = self._results.get(ref)
        if result is None:
            try:
                result = self._fetch(ref)
            except ModelUnreadable as error:
                result = error
            self._results[ref] = result
        if isinstance(result, ModelUnreadable):
            raise result
        return result

    def find_again(self, readings: _Readings) -> bool:
        """Return whether every repository of an earlier answer is unchanged."""
        for ref, reading in readings.items():
            try:
                snapshot = self(ref)
            except ModelUnreadable:
                return False
            if _reading_of(snapshot) != reading:
                return False
        return True

    @property
    def _snapshots(self) -> dict[ModelRef, RepoSnapshot]:
        return {
            ref: result
            for ref, result in self._results.items()
            if not isinstance(result, ModelUnreadable)
        }

    @property
    def readings(self) -> _Readings:
        return {ref: _reading_of(snapshot) for ref, snapshot in self._snapshots.items()}

    @property
    def are_complete(self) -> bool:
        return len(self._snapshots) == len(self._results)

    @property
    def are_gated(self) -> bool:
        return any(snapshot.gated for snapshot in self._snapshots.values())


def _reading_of(snapshot: RepoSnapshot) -> tuple[str, str]:
    return _version_of(snapshot), snapshot.retrieved_at


def _version_of(snapshot: RepoSnapshot) -> str:
    # Changes with a snapshot's facts, whenever they were read. A commit identifies them, except for
    # an adapter, whose base model has commits of its own, and a gated repository, whose tensors may
    # come from another one.
    if snapshot.sha is not None and snapshot.format != "adapter" and not snapshot.gated:
        notes = ",".join(note.code for note in snapshot.notes)
        return f"{snapshot.repo_id} {snapshot.sha} {snapshot.source} {notes}"
    facts = json.dumps(replace(snapshot, retrieved_at="").to_json())
    return sha256(facts.encode()).hexdigest()


def _text(sizer: Sizer, question: str, request: RequestModel, language: Language) -> bytes:
    record = USE_CASES[question].answer(sizer, request)
    return ANSWERS[question].from_record(record, lambda note: say_note(note, language)).json_bytes()
