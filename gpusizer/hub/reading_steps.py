"""Steps of reading a repository, reported while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Fetch, RepoSnapshot

StepName = Literal["files", "headers", "read"]


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """One step of reading a repository that no cache holds."""

    # "files" after the list of files, "headers" after each header of a weight file, "read" at the
    # end
    name: StepName
    count: int = 0  # files of the repository, or headers read so far
    total: int = 0  # headers to read; 0 for the other steps


OnStep = Callable[[ReadingStep], None]  # Receives a step. It may be called from any thread.


def ignore_step(step: ReadingStep) -> None:
    """Ignore a step."""


@runtime_checkable
class WatchableFetch(Protocol):
    """Source of snapshots that reports its steps."""

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot of a model. Raises ModelUnreadable."""

    def watched(self, on_step: OnStep) -> Fetch:
        """Return a source of the same snapshots that calls `on_step` at each step of its reads."""


def watched(fetch: Fetch, on_step: OnStep) -> Fetch:
    """Return `fetch` with its steps passed to `on_step`; unchanged if it reports none."""
    return fetch.watched(on_step) if isinstance(fetch, WatchableFetch) else fetch
