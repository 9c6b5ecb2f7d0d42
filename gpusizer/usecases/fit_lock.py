"""Fit that a build keeps true, as `gpusizer.lock` holds it.

A lock states the request, the commit and files that answered it, and the predicted memory, part by
part. `check_lock` asks again and states the changes since, and whether the model still fits at the
high end of its memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from gpusizer import __version__
from gpusizer.core.byte_ranges import Amount
from gpusizer.core.messages import Note
from gpusizer.core.validation import fail
from gpusizer.fit.fit import Fit
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.workload import Workload
from gpusizer.usecases.misses import Misses, find_misses
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer

MAX_LOCK_BYTES = 1_000_000
_GREW = 0.005  # relative growth of a part of the memory that a check names: less is rounding
_NAMED_FILES = 20  # changed files that a check names one by one

_Text = Annotated[str, Field(max_length=1000)]
_Bytes = Annotated[int, Field(ge=0)]
_Value = StrictBool | int | float | _Text | list[_Text]


class _Locked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LockedModel(_Locked):
    """The repository as it was read: `tensors_sha256` covers names, shapes and dtypes."""

    repo_id: _Text
    commit: _Text | None
    files: dict[_Text, _Bytes | None]
    tensors_sha256: _Text

    @classmethod
    def from_snapshot(cls, snapshot: RepoSnapshot) -> Self:
        """Return a snapshot's files and the digest of its tensors."""
        components = snapshot.components
        files = {file.path: file.size_bytes for part in components for file in part.files}
        tensors = [[group.to_json() for group in part.tensors] for part in components]
        digest = hashlib.sha256(json.dumps(tensors, sort_keys=True).encode()).hexdigest()
        return cls(
            repo_id=snapshot.repo_id, commit=snapshot.sha, files=files, tensors_sha256=digest
        )


class LockedPlace(_Locked):
    """The predicted run config: GPU, boards, engine, quantization, and the memory of a device."""

    gpu: _Text
    boards: Annotated[int, Field(ge=1)]
    memory_bytes: _Bytes
    engine: _Text
    engine_version: _Text
    quant: _Text
    context: Annotated[int, Field(ge=1)]
    concurrency: Annotated[int, Field(ge=1)]


class LockedBytes(_Locked):
    """Bytes on one GPU: both ends of the band, and the likely value."""

    low: _Bytes
    likely: _Bytes
    high: _Bytes

    @classmethod
    def from_amount(cls, amount: Amount) -> Self:
        """Return the ends and the likely value of an amount."""
        return cls(low=amount.low, likely=amount.likely, high=amount.high)


class FitLock(_Locked):
    """Content of `gpusizer.lock`. `made` is a date, `request` holds the fields as sent."""

    lock_version: Literal[1] = 1
    made: _Text
    gpusizer: _Text
    request: dict[_Text, _Value]
    model: LockedModel
    place: LockedPlace
    memory: dict[_Text, LockedBytes]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the lock in a file's text. Raises InvalidRequest for other texts."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            where = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
            raise fail("lock", where, "no_lock") from None

    def text(self) -> str:
        """Return the file's text, which `from_text` reads."""
        return self.model_dump_json(indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class LockCheck:
    """A lock next to today's answer."""

    lock: FitLock
    now: FitLock
    changes: tuple[Note, ...]  # changes of the repository first, then of the place and its memory
    misses: Misses  # reasons why the requirements no longer hold; empty if they do
    doubts: tuple[Note, ...]  # unknown facts of the model that make the check undecidable

    @property
    def holds(self) -> bool | None:
        """Whether the high end still fits; None if undecidable."""
        return None if self.doubts else not self.misses


def make_lock(sizer: Sizer, request: SizeRequest, made: str) -> tuple[FitLock, Misses]:
    """Return the lock of a request for one GPU, and why it does not hold today.

    Raises InvalidRequest for no GPU or several, and the errors of the answer.
    """
    question = sizer.question(request)
    report = sizer.report(question)
    return _lock_of(question, report, made), find_misses(report)


def check_lock(sizer: Sizer, lock: FitLock, today: str) -> LockCheck:
    """Repeat a lock's request and compare. Raises the errors of the answer."""
    question = sizer.question(SizeRequest.from_fields(lock.request))
    report = sizer.report(question)
    now = _lock_of(question, report, today)
    doubts = report.profile.doubts
    misses = tuple(note for note in find_misses(report) if note not in doubts)
    return LockCheck(lock, now, tuple(_changes(lock, now)), misses, doubts)


def _lock_of(question: Question, report: Report, made: str) -> FitLock:
    request = question.request
    if len(request.gpus) != 1:
        raise fail("gpu", ", ".join(request.gpus), "lock_one_gpu")
    fit = report.ranking[0].fit
    place = _place(report.workload, fit)
    # The choice is locked: a later release may prefer another quantization.
    chosen = {"quant": [place.quant], "engine": place.engine}
    asked = request.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return FitLock.model_validate(
        {
            "made": made,
            "gpusizer": __version__,
            "request": {**asked, **chosen},
            "model": LockedModel.from_snapshot(question.snapshot),
            "place": place,
            "memory": dict(_parts(fit.estimate.per_gpu)),
        }
    )


def _place(workload: Workload, fit: Fit) -> LockedPlace:
    estimate = fit.estimate
    return LockedPlace(
        gpu=fit.gpu.slug,
        boards=fit.count,
        memory_bytes=fit.gpu.device_free_bytes,
        engine=estimate.engine.slug,
        engine_version=workload.engine_version or estimate.engine.version,
        quant=estimate.quant.slug,
        context=workload.context,
        concurrency=workload.concurrency,
    )


def _parts(memory: Breakdown) -> Iterator[tuple[str, LockedBytes]]:
    yield "weights", LockedBytes.from_amount(memory.weights)
    yield "kv_cache", LockedBytes.from_amount(memory.kv_cache)
    yield "activations", LockedBytes.from_amount(memory.activations)
    yield "overhead", LockedBytes.from_amount(memory.overhead + memory.outside)
    yield "total", LockedBytes.from_amount(memory.total)


def _changes(before: FitLock, now: FitLock) -> Iterator[Note]:
    old, new = before.model, now.model
    if old.commit != new.commit:
        yield Note("lock_commit", before=old.commit or "?", now=new.commit or "?")
    files = list(_changed_files(old.files, new.files))
    yield from files[:_NAMED_FILES]
    if len(files) > _NAMED_FILES:
        yield Note("lock_more_files", count=len(files) - _NAMED_FILES)
    if old.tensors_sha256 != new.tensors_sha256:
        yield Note("lock_tensors")
    elif old.commit != new.commit and not files:
        yield Note("lock_same_tensors")
    if before.gpusizer != now.gpusizer:
        yield Note("lock_release", before=before.gpusizer, now=now.gpusizer)
    then, today = before.place.model_dump(), now.place.model_dump()
    for field, value in then.items():
        if today[field] != value:
            yield Note("lock_place", field=field, before=value, now=today[field])
    for part in before.memory.keys() & now.memory.keys():
        was, is_now = before.memory[part].high, now.memory[part].high
        if abs(is_now - was) > _GREW * max(was, 1):
            yield Note("lock_memory", part=part, before_bytes=was, now_bytes=is_now)


def _changed_files(old: Mapping[str, int | None], new: Mapping[str, int | None]) -> Iterator[Note]:
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            yield Note("lock_file_gone", file=path)
        elif path not in old:
            yield Note("lock_file_new", file=path)
        elif old[path] != new[path]:
            yield Note("lock_file", file=path)
