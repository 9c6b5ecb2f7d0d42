"""Models whose answers compute until a test says that they may end, and ordinary ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count

from gpusizer.core.errors import HubRateLimited, LimitsExceeded
from gpusizer.core.time_budget import TimeBudget
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import OnStep, ReadingStep, ignore_step, watched
from gpusizer.hub.snapshot import Fetch, RepoSnapshot, known
from tests.builders import tiny

HEAVY, LIGHT = "org/heavy-", "org/light-"  #

# Questions with the name of a group: the number of its answers that have begun, as the
# `retry_after_seconds` of an error; and the release of them all.
BEGUN, RELEASED = "org/begun-", "org/released-"
_MOST_SECONDS = 240.0
_CHECKS = 2_000  # about a millisecond
_REST_SECONDS = 0.002  # so that the test itself can work
_ROUNDS_OF_A_STEP = 30


@dataclass
class _Group:
    begun: int = 0
    released: threading.Event = field(default_factory=threading.Event)


class HeavyModels:
    """A fetcher of these models, and of every other model by `others`."""

    def __init__(self, others: Fetch, on_step: OnStep = ignore_step) -> None:
        self._others = others
        self._on_step = on_step
        self._groups: dict[str, _Group] = {}
        self._lock = threading.Lock()

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot of a model, of a heavy one once its group is released."""
        name = ref.repo_id
        if name.startswith(BEGUN):
            begun = self._group(name.removeprefix(BEGUN)).begun
            raise HubRateLimited(repo_id=name, retry_after_seconds=begun)
        if name.startswith(RELEASED):
            self._group(name.removeprefix(RELEASED)).released.set()
            raise HubRateLimited(repo_id=name)
        if name.startswith(HEAVY):
            self._compute(name)
        if name.startswith((HEAVY, LIGHT)):
            return replace(tiny(), repo_id=name)
        return self._others(ref)

    def known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Ordinary ones are known at once."""
        return self(ref) if ref.repo_id.startswith(LIGHT) else known(self._others, ref)

    def watched(self, on_step: OnStep) -> Fetch:
        """Return a fetcher of the same models, which tells of steps as long as it computes."""
        other = copy(self)
        other._others, other._on_step = watched(self._others, on_step), on_step
        return other

    def _group(self, name: str) -> _Group:
        with self._lock:
            return self._groups.setdefault(name, _Group())

    def _compute(self, name: str) -> None:
        group = self._group(name.removeprefix(HEAVY).rpartition("-")[0])
        with self._lock:
            group.begun += 1
        budget, end = TimeBudget(_MOST_SECONDS), time.monotonic() + _MOST_SECONDS
        for number in count():
            if group.released.is_set():
                return
            if number % _ROUNDS_OF_A_STEP == 0:
                self._on_step(ReadingStep("headers", number, number))
            for _ in range(_CHECKS):
                budget.check(name)
            time.sleep(_REST_SECONDS)
            if time.monotonic() > end:
                raise LimitsExceeded(repo_id=name, limit="released", allowed=0)


def fields_of(model: str) -> Mapping[str, object]:
    """Return a question about a model that is quickly answered once it may be."""
    return {"model": model, "gpu": "4090", "quant": "native", "top": 1}
