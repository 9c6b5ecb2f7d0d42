"""Composition root of the web application: `python app.py`."""

from __future__ import annotations

import gc
import os

# Gradio reads these variables when it is imported: it sends no analytics, and sums up its queue
# only once in 1000 requests. The monitoring page that would show more than the last one is closed.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000")
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")

# Python looks for garbage as objects are made. What is made here, until the application is built,
# stays: looking through it would take a second of the start, and of later answers.
gc.disable()


from gpusizer.answers.models_for.model_library import ModelLibrary
from gpusizer.answers.models_for.model_use import embedded_use
from gpusizer.answers.sizer import Sizer
from gpusizer.core.printable import log_printably
from gpusizer.core.settings import Settings
from gpusizer.core.structured_log import log_as_json
from gpusizer.gpus import load_catalogue
from gpusizer.ui import build_application
from gpusizer.ui.monitor import Monitor
from gpusizer.ui.observation import LOGGER
from gpusizer.ui.serving import launch
from scrapers.embedded import EmbeddedSnapshots
from scrapers.fetcher import build_fetcher
from scrapers.hub_access import open_access
from scrapers.model_tree import build_lister
from scrapers.trending import build_trending

log_printably()
settings = Settings.from_environment(os.environ)
access = open_access(settings)
monitor = Monitor(settings, access.shared_is_reachable if settings.cache_url else None)
fetcher = build_fetcher(settings, monitor.hub_call, access)
embedded = EmbeddedSnapshots(settings.snapshots_folder)
lister = build_lister(settings, monitor.hub_call, access)
trending = build_trending(settings, monitor.hub_call, access)
sizer = Sizer(
    fetcher, load_catalogue(), lister, ModelLibrary(embedded.every, embedded_use, trending)
)
examples = embedded.ids()
# Outside of a Space with OAuth, Gradio's login button raises an error at the start.
sign_in = bool(os.environ.get("OAUTH_CLIENT_ID"))
application = build_application(
    sizer, examples, fetcher.for_visitor, monitor, stored=embedded.get, sign_in=sign_in
)
gc.freeze()
gc.enable()


def port() -> int | None:
    """The port that the environment sets; with None Gradio takes the first free one from 7860."""
    number = os.environ.get("GRADIO_SERVER_PORT") or os.environ.get("PORT")
    return int(number) if number else None


if __name__ == "__main__":
    launch(application, server_port=port())
    if settings.structured_log:
        log_as_json(LOGGER)
    application.endpoints.block_thread()
