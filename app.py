"""Composition root of the web application: `python app.py`."""

from __future__ import annotations

import os

# Gradio reads these when it is imported: no analytics, and its queue summary only rarely.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000")

from gpusizer.gpus import load_catalogue
from gpusizer.models_for.shelf import Shelf
from gpusizer.settings import Settings
from gpusizer.sizer import Sizer
from gpusizer.startup import collect_rarely
from gpusizer.ui import build_demo
from gpusizer.ui.serving import launch
from scrapers.embedded import EmbeddedSnapshots
from scrapers.model_tree import build_lister
from scrapers.sources import build_fetcher

settings = Settings.from_environment(os.environ)
fetcher = build_fetcher(settings)
embedded = EmbeddedSnapshots(settings.snapshots_folder)
sizer = Sizer(fetcher, load_catalogue(), build_lister(settings), Shelf(embedded.every))
examples = embedded.ids()
# Gradio signs in only where a Space offers it; anywhere else its button stops the start.
sign_in = bool(os.environ.get("OAUTH_CLIENT_ID"))
demo = build_demo(sizer, examples, fetcher.for_visitor, sign_in=sign_in)


def port() -> int | None:
    """The port asked for; None lets Gradio take the first free one from 7860."""
    asked = os.environ.get("GRADIO_SERVER_PORT") or os.environ.get("PORT")
    return int(asked) if asked else None


if __name__ == "__main__":
    collect_rarely()
    launch(demo, server_port=port())
    demo.block_thread()
