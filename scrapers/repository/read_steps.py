"""ReadSteps and Watchers: progress of one read, for all requests that wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.reading_steps import OnStep, ReadingStep, ignore_step


class ReadSteps:
    """Counts the progress of one read and calls `on_step` with it."""

    def __init__(self, on_step: OnStep = ignore_step) -> None:
        self._on_step = on_step
        self._total = 0
        self._headers = 0

    def listed(self, files: int) -> None:
        """Report that the file list of the repository is known."""
        self._on_step(ReadingStep("files", files))

    def selected(self, headers: int) -> None:
        """Report the number of files whose headers are to be read."""
        self._total = headers
        self._on_step(ReadingStep("headers", 0, headers))

    def headers_read(self, headers: int = 1) -> None:
        """Report further headers; a repository may have more than it listed."""
        self._headers += headers
        self._total = max(self._total, self._headers)
        self._on_step(ReadingStep("headers", self._headers, self._total))

    def finished(self) -> None:
        """Report that everything has been read."""
        self._on_step(ReadingStep("read"))


class Watchers:
    """Distributes the steps of a shared read to all requests that wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watchers: dict[ModelRef, list[OnStep]] = {}

    @contextmanager
    def watching(self, ref: ModelRef, on_step: OnStep) -> Iterator[None]:
        """Call `on_step` with the steps of reading a model, inside of the block."""
        with self._lock:
            self._watchers.setdefault(ref, []).append(on_step)
        try:
            yield
        finally:
            with self._lock:
                self._watchers[ref].remove(on_step)
                if not self._watchers[ref]:
                    del self._watchers[ref]

    def tell(self, ref: ModelRef, step: ReadingStep) -> None:
        """Report a step to all that wait for this model."""
        with self._lock:
            watchers = tuple(self._watchers.get(ref, ()))
        for on_step in watchers:
            on_step(step)
