"""A repository whose reading takes a moment and tells of its steps, as the Hub's does."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import OnStep, ReadingStep, ignore_step
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from tests.builders import tiny

SLOW_MODEL = "org/slow"
STEPS = (
    ReadingStep("files", 4),
    ReadingStep("headers", 0, 2),
    ReadingStep("headers", 2, 2),
    ReadingStep("read"),
)
_SECONDS = 0.4  # between two steps, so that a browser shows each


@dataclass(frozen=True)
class SlowModel:
    """A fetcher of SLOW_MODEL, and of every other model by `others`."""

    others: Fetch
    on_step: OnStep = ignore_step

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        if ref.repo_id != SLOW_MODEL:
            return self.others(ref)
        for step in STEPS:
            self.on_step(step)
            time.sleep(_SECONDS)
        return replace(tiny(), repo_id=SLOW_MODEL)

    def watched(self, on_step: OnStep) -> Fetch:
        return replace(self, on_step=on_step)
