"""Caches of a scope: made once in each, apart from those of other modules and other scopes."""

from __future__ import annotations

import gc

from gpusizer.fit.audience import is_last_resort
from gpusizer.fit.study import CacheScope, IdentityCache, ScopedCache
from gpusizer.memory.quants import find_quant
from gpusizer.usecases.requests.request import SizeRequest
from tests.sizers import embedded_sizer


def test_a_value_is_made_once_in_each_scope() -> None:
    cache: ScopedCache[str, int] = ScopedCache()
    one, other, made = CacheScope(), CacheScope(), []

    def make() -> int:
        made.append(0)
        return len(made)

    assert [cache.get(one, "a", make), cache.get(one, "a", make)] == [1, 1]
    assert cache.get(other, "a", make) == 2
    assert cache.values(one) == {"a": 1}


def test_caches_of_one_scope_are_apart() -> None:
    first: ScopedCache[str, int] = ScopedCache()
    second: ScopedCache[str, str] = ScopedCache()
    scope = CacheScope()
    assert first.get(scope, "a", lambda: 1) == 1
    assert second.get(scope, "a", lambda: "one") == "one"


def test_none_is_a_value() -> None:
    cache: ScopedCache[None, None] = ScopedCache()
    scope, made = CacheScope(), []
    for _ in range(2):
        cache.get(scope, None, lambda: made.append(0))
    assert len(made) == 1


def test_an_item_keeps_its_identity() -> None:
    """An object that is freed gives its address to the next: the cache holds what it knows."""
    cache: IdentityCache[list[int], int] = IdentityCache()
    scope = CacheScope()
    for number in range(100):
        assert cache.get(scope, [number], lambda made=number: made) == number
        gc.collect(0)


def test_other_quantizations_are_no_part_of_an_answer() -> None:
    """Eight bits of a checkpoint of four are a last resort, whether a study of eight bits alone,
    which knows no checkpoint, was asked before or not."""
    eight = find_quant("q8_0")

    def resorts(*, alone_first: bool) -> list[bool]:
        request = SizeRequest.from_fields({"model": "openai/gpt-oss-20b"})
        study = embedded_sizer().question(request).study.with_workload()  # with caches of its own
        studies = [study.with_quants([(eight, False)]), study][:: 1 if alone_first else -1]
        found = [is_last_resort(one, eight, 0, native=False) for one in studies]
        return found[:: 1 if alone_first else -1]

    assert resorts(alone_first=True) == resorts(alone_first=False) == [False, True]
