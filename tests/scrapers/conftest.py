"""An emulated Hub for every test, and a session with short timeouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.http import HubSession
from scrapers.limits import Limits
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import HubEmulator

Fetch = Callable[..., RepoSnapshot]

# A busy machine breaks none of them; what is to break them has limits of its own.
AMPLE = Limits(request_seconds=20.0, model_seconds=60.0, parallel_reads=8)


@pytest.fixture
def hub() -> Iterator[HubEmulator]:
    with HubEmulator() as emulator:
        yield emulator


def settings_of(hub: HubEmulator, **changes: Any) -> Settings:
    """Return the settings of a process that reads an emulated Hub and keeps nothing."""
    return replace(Settings(endpoint=hub.endpoint, cdn_origins=(hub.cdn_endpoint,)), **changes)


@pytest.fixture
def session(hub: HubEmulator) -> Iterator[HubSession]:
    with HubSession(hub.endpoint, cdn_origins=(hub.cdn_endpoint,)) as opened:
        yield opened


@pytest.fixture
def fetch(session: HubSession) -> Fetch:
    """Return a function that reads a pasted model ID.

    Keyword `limits` replaces the ample ones, `token` is sent.
    """

    def read(
        text: str = "org/name", *, limits: Limits = AMPLE, token: str | None = None
    ) -> RepoSnapshot:
        return fetch_snapshot(parse_model_ref(text), session, limits, token)

    return read
