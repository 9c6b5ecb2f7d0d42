"""computed_once: a property that is computed when it is first read, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class computed_once(Generic[_T]):
    """A property whose value the object keeps. Two threads at once may both compute it."""

    # functools.cached_property of Python 3.11 holds one lock for all objects while it computes. An
    # answer gives its turn away within such work (`CpuLimiter.give_way`), and a thread that has the
    # turn and waits for the lock would wait for ever.

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[_T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> computed_once[_T] | _T:
        """Return the value, which the next read finds in the object itself."""
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._compute(instance)
        return value
