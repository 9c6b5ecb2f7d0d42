"""gpusizer.usecases.fit_lock: a lock holds until the repository, the GPU or a rule changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.usecases.fit_lock import FitLock, LockCheck, check_lock, make_lock
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from tests.builders import llama

ASKED = {"model": "org/model", "gpu": "4090", "context": 16384}
STORED = replace(llama(layers=32), repo_id="org/model", sha="a" * 40)


def sizer(stored: RepoSnapshot) -> Sizer:
    return Sizer(lambda ref: stored, load_catalogue())


def lock_of(stored: RepoSnapshot = STORED, **fields: object) -> FitLock:
    lock, misses = make_lock(sizer(stored), SizeRequest.from_fields(ASKED | fields), "2026-11-01")
    assert misses == ()
    return lock


def checked(lock: FitLock, stored: RepoSnapshot = STORED) -> LockCheck:
    return check_lock(sizer(stored), lock, "2026-11-29")


def codes(check: LockCheck) -> list[str]:
    return [note.code for note in check.changes]


def edited(lock: FitLock, part: str, **fields: object) -> FitLock:
    return lock.model_copy(update={part: getattr(lock, part).model_copy(update=fields)})


def test_a_lock_of_today_holds_and_survives_its_file() -> None:
    lock = lock_of()
    assert FitLock.from_text(lock.text()) == lock
    check = checked(lock)
    assert (check.holds, check.changes, check.misses) == (True, (), ())


def test_the_choice_of_quantization_and_engine_is_locked() -> None:
    lock = lock_of()
    assert lock.request["quant"] == [lock.place.quant]
    assert lock.request["engine"] == lock.place.engine


def test_parts_of_the_memory_add_up() -> None:
    parts = dict(lock_of().memory)
    total = parts.pop("total")
    assert sum(part.high for part in parts.values()) == total.high
    assert sum(part.likely for part in parts.values()) == total.likely


def resized(stored: RepoSnapshot) -> RepoSnapshot:
    component = stored.components[0]
    first, *others = component.files
    grown = replace(first, size_bytes=(first.size_bytes or 0) + 1)
    return replace(stored, components=(replace(component, files=(grown, *others)),))


def test_a_new_commit_with_the_same_tensors_is_told_apart() -> None:
    check = checked(lock_of(), replace(STORED, sha="b" * 40))
    assert codes(check) == ["lock_commit", "lock_same_tensors"]
    assert check.holds


def test_a_changed_file_is_named() -> None:
    check = checked(lock_of(), resized(STORED))
    assert "lock_file" in codes(check)


def test_a_larger_model_under_the_same_name_no_longer_holds() -> None:
    larger = replace(llama(layers=160), repo_id="org/model", sha="c" * 40)
    check = checked(lock_of(), larger)
    assert {"lock_commit", "lock_tensors", "lock_memory"} <= set(codes(check))
    assert check.holds is False
    assert [note.code for note in check.misses][:1] == ["check_offload"]


@pytest.mark.parametrize(
    ("field", "value"), [("gpu", "rtx-3090-24gb"), ("engine_version", "b1"), ("memory_bytes", 1)]
)
def test_another_place_is_told_apart(field: str, value: object) -> None:
    check = checked(edited(lock_of(), "place", **{field: value}))
    (note,) = check.changes
    assert (note.code, note.fields["field"], note.fields["before"]) == ("lock_place", field, value)


def test_a_rule_that_asks_for_more_memory_is_named() -> None:
    lock = lock_of()
    cache = lock.memory["kv_cache"]
    smaller = cache.model_copy(update={"high": cache.high * 9 // 10})
    check = checked(lock.model_copy(update={"memory": {**lock.memory, "kv_cache": smaller}}))
    assert [(note.code, note.fields["part"]) for note in check.changes] == [
        ("lock_memory", "kv_cache")
    ]


@pytest.mark.parametrize("gpus", ["", "4090, 3090"])
def test_a_lock_is_of_one_gpu(gpus: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        make_lock(sizer(STORED), SizeRequest.from_fields(ASKED | {"gpu": gpus}), "2026-11-01")
    assert refused.value.fields["reason"] == "lock_one_gpu"


def test_what_does_not_hold_today_says_why() -> None:
    request = SizeRequest.from_fields(ASKED | {"gpu": "3060", "quant": "bf16"})
    _, misses = make_lock(sizer(STORED), request, "2026-11-01")
    assert misses


@given(st.text(max_size=200) | st.integers(0, 400).map(lambda end: lock_of().text()[:end]))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        FitLock.from_text(text)
