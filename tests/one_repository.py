"""A source of one repository, for tests of code in front of the Hub."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.errors import GpusizerError
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from tests.builders import tiny


class Repository:
    """A fetcher of one snapshot that a test may change, or that fails."""

    def __init__(self) -> None:
        self.snapshot = replace(tiny(), repo_id="someone/tiny", sha="a" * 40)
        self.failure: GpusizerError | None = None

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        if self.failure is not None:
            raise self.failure
        return self.snapshot
