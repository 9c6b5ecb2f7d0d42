"""Many cases of one rule in one test, whose failure lists the cases that break it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

_MOST_SHOWN = 10


def each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`pytest.mark.parametrize` without an item for each case, which costs more than most cases.

    For rules of rows, names and modules, whose cases leave nothing behind: they share fixtures.
    Raises an ExceptionGroup of the failures, each with its case as a note.
    """
    arguments = [name.strip() for name in names.split(",")]
    all_cases = [case if len(arguments) > 1 else (case,) for case in cases]
    assert all_cases, "a rule without cases holds nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def test_each(**fixtures: Any) -> None:
            failures = []
            for case in all_cases:
                try:
                    test(**fixtures, **dict(zip(arguments, case, strict=True)))
                except Exception as error:
                    error.add_note(f"case: {case!r}"[:1000])
                    failures.append(error)
            if failures:
                message = f"{len(failures)} of {len(all_cases)} cases fail"
                raise ExceptionGroup(message, failures[:_MOST_SHOWN])

        signature = inspect.signature(test)
        fixtures = [p for name, p in signature.parameters.items() if name not in arguments]
        test_each.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        test_each.__name__, test_each.__doc__ = test.__name__, test.__doc__
        test_each.__module__, test_each.__qualname__ = test.__module__, test.__qualname__
        return test_each

    return decorate
