"""Counts work in steps of the interpreter, whose number does not depend on the machine's load."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest


def steps_of(action: Callable[[], object]) -> int:
    """Count the lines of Python and the calls into C that an action takes in this thread.

    A call into C, such as matching a pattern, counts as one step.
    """
    count = 0

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return on_line

    def on_call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "c_call"

    traced, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(on_line)
    sys.setprofile(on_call)
    try:
        action()
    finally:
        sys.setprofile(profiled)
        sys.settrace(traced)
    return count


def record_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the timeouts in seconds with which any thread waits for an event from now on."""
    waits: list[float] = []
    wait = threading.Event.wait

    def recorded(self: threading.Event, timeout: float | None = None) -> bool:
        if timeout is not None:
            waits.append(timeout)
        return wait(self, timeout)

    monkeypatch.setattr(threading.Event, "wait", recorded)
    return waits
