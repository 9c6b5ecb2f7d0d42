"""HeadStart: the Hub is asked while the rest of the program is still being loaded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from gpusizer.hub_id import ModelRef
from gpusizer.snapshot import RepoSnapshot


class HeadStart:
    """A fetcher that has begun to read one model, whatever comes of it."""

    def __init__(self, fetch: Callable[[ModelRef], RepoSnapshot], ref: ModelRef) -> None:
        self._fetch = fetch
        self._ref = ref
        self._future: Future[RepoSnapshot] = Future()
        threading.Thread(target=self._read, name="head-start", daemon=True).start()

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """The model that was begun, or another; raises what reading it raised."""
        return self._future.result() if ref == self._ref else self._fetch(ref)

    def _read(self) -> None:
        try:
            self._future.set_result(self._fetch(self._ref))
        except BaseException as error:
            self._future.set_exception(error)
