"""The steps of reading a repository, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Fetch, RepoSnapshot

StepName = Literal["files", "headers", "read"]


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """One step of reading a repository that no cache holds.

    Attributes:
        name: "files" once the list of files is known, "headers" for each weight file whose header
            has been read, "read" once everything has been read.
        count: files of the repository, or headers that have been read.
        total: headers to read; 0 for the other steps.
    """

    name: StepName
    count: int = 0
    total: int = 0


OnStep = Callable[[ReadingStep], None]
"""Is told of a step; it may be called from any thread."""


def ignore_step(step: ReadingStep) -> None:
    """Take no notice of a step."""


@runtime_checkable
class WatchableFetch(Protocol):
    """A fetcher that tells of its steps."""

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot of a model. Raises ModelUnreadable."""

    def watched(self, on_step: OnStep) -> Fetch:
        """Return a fetcher of the same snapshots that tells `on_step` of the steps of its reads."""


def watched(fetch: Fetch, on_step: OnStep) -> Fetch:
    """Return `fetch` telling `on_step` of its steps; unchanged if it tells of none."""
    return fetch.watched(on_step) if isinstance(fetch, WatchableFetch) else fetch
