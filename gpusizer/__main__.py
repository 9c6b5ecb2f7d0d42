"""Composition root of the shell."""

# ruff: noqa: E402

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, NoReturn

from gpusizer.startup import collect_rarely

collect_rarely()  # before all else is loaded: a twentieth of a short command's time

from gpusizer.errors import GpusizerError
from gpusizer.hub_id import ModelRef, parse_model_ref
from gpusizer.settings import Settings
from gpusizer.snapshot import RepoSnapshot
from scrapers.embedded import EmbeddedSnapshots
from scrapers.head_start import HeadStart
from scrapers.model_tree import build_lister
from scrapers.sources import build_fetcher

# Options that change what is read; argparse takes their beginnings too.
_READING_OPTIONS = ("--r", "--f", "--o")

Fetch = Callable[[ModelRef], RepoSnapshot]


def main(argv: Sequence[str]) -> int:
    """Answer one command line; the exit code is that of `gpusizer.cli.run`."""
    begun = _begin(argv)
    # Loaded while the Hub answers: the rest takes as long as a round trip.
    run = import_module("gpusizer.cli").run
    code: int = run(argv, lambda offline: _make_sizer(begun, offline))
    return code


def _make_sizer(begun: Fetch | None, offline: bool) -> Any:
    """A Sizer over the Hub, or over what is stored when `offline`."""
    fetch = begun if begun is not None and not offline else _fetcher(offline)
    catalogue = import_module("gpusizer.gpus").load_catalogue()
    settings = _settings(offline)
    shelf = import_module("gpusizer.models_for.shelf").Shelf(
        EmbeddedSnapshots(settings.snapshots_folder).every
    )
    lister = build_lister(settings)
    return import_module("gpusizer.sizer").Sizer(fetch, catalogue, lister, shelf)


def _begin(argv: Sequence[str]) -> Fetch | None:
    """Start to read the model of a plain `size MODEL …` or `train MODEL …`, else None."""
    reads = argv[:1] in (["size"], ["train"])
    plain = reads and len(argv) > 1 and not argv[1].startswith("-")
    if not plain or any(word.startswith(_READING_OPTIONS) for word in argv):
        return None
    try:
        return HeadStart(_fetcher(False), parse_model_ref(argv[1]))
    except GpusizerError:
        return None  # to be said by the shell, in its own way


def _fetcher(offline: bool) -> Fetch:
    return build_fetcher(_settings(offline))


def _settings(offline: bool) -> Settings:
    settings = Settings.from_environment(os.environ)
    return replace(settings, offline=True) if offline else settings


def _leave(code: int) -> NoReturn:
    """End the process. The system frees memory faster than the interpreter takes it apart."""
    with suppress(BrokenPipeError):  # the reader of a pipe has seen enough
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
