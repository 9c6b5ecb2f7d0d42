"""Joins the shell with the readers of the Hub and of a server's metrics."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gpusizer.core.settings import Settings
from gpusizer.hub.listed_models import ListTrending
from gpusizer.hub.quantized_repos import Lister
from gpusizer.hub.snapshot import Fetch
from scrapers.fetcher import Fetcher
from scrapers.hub_access import open_access
from scrapers.model_tree import build_lister
from scrapers.own_token import own_token
from scrapers.server_metrics import read_metrics
from scrapers.trending import build_trending

__all__ = ["HubReaders", "open_readers", "read_metrics"]


@dataclass(frozen=True, slots=True)
class HubReaders:
    """What asks the Hub: for a model, for a base's quantized copies, for what trends."""

    fetch: Fetch
    lister: Lister
    trending: ListTrending


def open_readers(settings: Settings, token: str | None) -> HubReaders:
    """Readers that share a session; `token` as in `own_token`. Raises InvalidRequest."""
    access = open_access(settings)
    fetch = Fetcher(settings, access=access, own_token=own_token(os.environ, token))
    trending = build_trending(settings, access=access)
    return HubReaders(fetch, build_lister(settings, access=access), trending)
