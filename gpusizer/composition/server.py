"""Composition root of the server: `gpusizer serve`, and `python app.py` on a Space."""

from __future__ import annotations

import gc
import os
import time

# Gradio reads this variable when it is imported: it sends no analytics.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from gpusizer.composition.shared import open_access, shared_counter
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.settings import Settings
from gpusizer.core.structured_log import log_as_json
from gpusizer.gpus import load_catalogue
from gpusizer.ui import Application, build_application
from gpusizer.ui.server.health import Monitor
from gpusizer.ui.server.observation import LOGGER
from gpusizer.ui.serving import drain, launch
from gpusizer.usecases.models_for.live_use import embedded_use
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.sizer import Sizer
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.leaderboards import build_leaderboards
from scrapers.listings import build_lister, build_trending

# Time for answers under way: Docker kills ten seconds after its signal to stop.
_DRAIN_SECONDS = 8.0
_DAY_SECONDS = 86_400.0


def compose(settings: Settings, *, sign_in: bool) -> Application:
    """Build the application on the Hub of the settings; `sign_in` adds a login button to pages."""
    access = open_access(settings)
    monitor = Monitor(settings, access.shared_is_reachable)
    fetcher = Fetcher(settings, monitor.hub_call, access)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    lister = build_lister(settings, monitor.hub_call, access)
    trending = build_trending(settings, monitor.hub_call, access)
    leaderboards = build_leaderboards(settings, monitor.hub_call, access)
    library = ModelLibrary(embedded, embedded_use, trending, leaderboards=leaderboards)
    sizer = Sizer(fetcher, load_catalogue(), lister, library)
    return build_application(
        sizer, embedded.ids(), fetcher.for_visitor, monitor, stored=embedded.get, sign_in=sign_in
    )


def compose_from_environment() -> Application:
    """Build the application from environment variables. Raises InvalidRequest."""
    settings = Settings.from_environment(os.environ)
    # Outside of a Space with OAuth, Gradio's login button raises an error at the start.
    return compose(settings, sign_in=bool(os.environ.get("OAUTH_CLIENT_ID")))


def serve(host: str | None = None, port: int | None = None) -> None:
    """Serve at the given host and port, else at Gradio's, until KeyboardInterrupt; then drain.

    Raises InvalidRequest for an impossible setting, and if the server cannot listen there.
    """
    application = compose_from_environment()
    settings = application.monitor.settings
    try:
        launch(
            application,
            counter=shared_counter(settings),
            server_name=host,
            server_port=port,
        )
        # Objects that exist by now stay until the end: the garbage collector need not scan them,
        # which takes 0.15 s of processor time about once in ten answers.
        gc.freeze()
        if settings.structured_log:
            log_as_json(LOGGER)
        while True:
            time.sleep(_DAY_SECONDS)
    except OSError as error:
        if "empty port" not in str(error):  # Gradio's words
            raise
        host = host or os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")
        value = host if port is None else f"{host}:{port}"
        raise InvalidRequest(field="serve", value=value, reason="cannot_listen") from None
    finally:
        drain(application, _DRAIN_SECONDS)
