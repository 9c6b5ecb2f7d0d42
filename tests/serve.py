"""The application over fixed repositories, as a process of its own: `python -m tests.serve`.

Gradio leaves sockets and event loops to the garbage collector; apart from the tests, that
cannot fail them. Prints its address, then serves until it is stopped.
"""

from __future__ import annotations

import os
from dataclasses import replace

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = "1000"

from gpusizer.hub_id import ModelRef
from gpusizer.settings import Settings
from gpusizer.sizer import Fetch, Sizer
from gpusizer.snapshot import RepoSnapshot
from gpusizer.ui import build_demo
from gpusizer.ui.serving import launch
from scrapers.embedded import EmbeddedSnapshots
from tests.builders import tiny
from tests.hostile import (
    BROKEN_MODEL,
    HOSTILE_MODEL,
    VISITORS_MODEL,
    VISITORS_TOKEN,
    hostile_snapshot,
)
from tests.sizers import embedded_sizer


def page_sizer() -> Sizer:
    """The embedded models, one hostile repository, and one whose reading is a bug."""
    embedded = embedded_sizer()

    def fetch(ref: ModelRef) -> RepoSnapshot:
        if ref.repo_id == HOSTILE_MODEL:
            return hostile_snapshot(HOSTILE_MODEL)
        if ref.repo_id == BROKEN_MODEL:
            raise RuntimeError("a bug")
        return embedded.fetch(ref)

    return embedded.reading(fetch)


def for_visitor(token: str) -> Fetch:
    """A visitor may read one repository that nobody else may."""
    everybody = embedded_sizer().fetch

    def fetch(ref: ModelRef) -> RepoSnapshot:
        if (token, ref.repo_id) == (VISITORS_TOKEN, VISITORS_MODEL):
            return replace(tiny(), repo_id=VISITORS_MODEL)
        return everybody(ref)

    return fetch


if __name__ == "__main__":
    examples = EmbeddedSnapshots(Settings().snapshots_folder).ids()
    demo = build_demo(page_sizer(), examples, for_visitor)
    print(launch(demo, quiet=True), flush=True)
    demo.block_thread()
