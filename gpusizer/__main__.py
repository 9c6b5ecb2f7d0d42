"""Composition root of the shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from gpusizer.answers.models_for.model_library import ModelLibrary
from gpusizer.answers.models_for.model_use import embedded_use
from gpusizer.answers.sizer import Sizer
from gpusizer.cli import run
from gpusizer.core.printable import log_printably
from gpusizer.core.settings import Settings
from gpusizer.gpus import load_catalogue
from scrapers.embedded import EmbeddedSnapshots
from scrapers.fetcher import Fetcher
from scrapers.hub_access import open_access
from scrapers.local_checkpoint import parse_local_or_model_ref, with_local_checkpoints
from scrapers.model_tree import build_lister
from scrapers.server_metrics import read_metrics
from scrapers.trending import build_trending


def main(argv: Sequence[str]) -> int:
    """Answer one command line; the exit code is that of `gpusizer.cli.run`."""
    log_printably()
    code = run(argv, _make_sizer, read_metrics)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would try to flush again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def command() -> int:
    """Answer the command line of this process: the program `gpusizer` of an installed package."""
    return main(sys.argv[1:])


def _make_sizer(offline: bool) -> Sizer:
    """A Sizer over the Hub, or over what is stored when `offline`."""
    settings = Settings.from_environment(os.environ)
    if offline:
        settings = replace(settings, offline=True)
    access = open_access(settings)
    embedded = EmbeddedSnapshots(settings.snapshots_folder)
    trending = build_trending(settings, access=access)
    library = ModelLibrary(embedded.every, embedded_use, trending)
    fetch = with_local_checkpoints(Fetcher(settings, access=access))
    lister = build_lister(settings, access=access)
    return Sizer(fetch, load_catalogue(), lister, library, parse_local_or_model_ref)


if __name__ == "__main__":
    sys.exit(command())
