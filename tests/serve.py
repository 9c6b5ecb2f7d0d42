"""The application over fixed repositories, as a process of its own: `python -m tests.serve`.

Gradio leaves sockets and event loops to the garbage collector, which would raise warnings in the
tests' own process. This process prints its address, then serves until it is stopped.
"""

from __future__ import annotations

import os
from dataclasses import replace

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from gpusizer.core.errors import HubRateLimited
from gpusizer.core.settings import Settings
from gpusizer.core.structured_log import log_as_json
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from gpusizer.ui import build_application
from gpusizer.ui.server.health import Monitor
from gpusizer.ui.server.observation import LOGGER
from gpusizer.ui.serving import launch
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots
from tests.builders import tiny
from tests.carded import CARDED_MODEL, carded_snapshot
from tests.heavy import HeavyModels
from tests.hostile import (
    BROKEN_MODEL,
    HOSTILE_MODEL,
    LIMITED_MODEL,
    LIMITED_SECONDS,
    VISITORS_MODEL,
    VISITORS_TOKEN,
    hostile_snapshot,
)
from tests.poison import POISONED_MODEL, every_text_poisoned, gptq
from tests.ports import free_port
from tests.sizers import embedded_sizer
from tests.slow import SlowModel


def page_sizer() -> Sizer:
    """Return a Sizer of the embedded models and others: hostile, carded, limited, slow, heavy."""
    embedded = embedded_sizer()

    def fetch(ref: ModelRef) -> RepoSnapshot:
        if ref.repo_id == HOSTILE_MODEL:
            return hostile_snapshot(HOSTILE_MODEL)
        if ref.repo_id == POISONED_MODEL:
            return every_text_poisoned(gptq())
        if ref.repo_id == CARDED_MODEL:
            return carded_snapshot()
        if ref.repo_id == BROKEN_MODEL:
            raise RuntimeError("a bug")
        if ref.repo_id == LIMITED_MODEL:
            raise HubRateLimited(repo_id=ref.repo_id, retry_after_seconds=LIMITED_SECONDS)
        return embedded.fetch(ref)

    return embedded.reading(HeavyModels(SlowModel(fetch)))


def for_visitor(token: str) -> Fetch:
    """Return a source with one private repository for a visitor's token."""
    everybody = embedded_sizer().fetch

    def fetch(ref: ModelRef) -> RepoSnapshot:
        if (token, ref.repo_id) == (VISITORS_TOKEN, VISITORS_MODEL):
            return replace(tiny(), repo_id=VISITORS_MODEL)
        return everybody(ref)

    return fetch


if __name__ == "__main__":
    settings = Settings.from_environment(os.environ)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    application = build_application(
        page_sizer(), embedded.ids(), for_visitor, Monitor(settings), stored=embedded.get
    )
    url = launch(application, quiet=True, server_port=free_port())
    if settings.structured_log:
        log_as_json(LOGGER)
    print(url, flush=True)
    application.endpoints.block_thread()
