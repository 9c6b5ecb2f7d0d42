"""Composition root of the shell."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from gpusizer.cli import run
from gpusizer.gpus import load_catalogue
from gpusizer.settings import Settings
from gpusizer.sizer import Sizer
from scrapers.model_tree import build_lister
from scrapers.sources import build_fetcher


def make_sizer(offline: bool) -> Sizer:
    """A Sizer over the Hub, or over what is embedded when `offline`."""
    settings = Settings.from_environment(os.environ)
    if offline:
        settings = replace(settings, offline=True)
    return Sizer(build_fetcher(settings), load_catalogue(), build_lister(settings))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], make_sizer))
