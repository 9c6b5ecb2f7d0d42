"""An emulated Hub for every test, one with a certificate, and a session with short timeouts."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.failures import HubResource
from scrapers.client.http import HubSession
from scrapers.client.http_response import HubRequest, HubResponse
from scrapers.client.hub_api import info_url
from scrapers.client.read_budget import ReadBudget
from scrapers.limits import Limits
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import HubEmulator, llama_repo

Fetch = Callable[..., RepoSnapshot]

# A busy machine breaks none of them; what is to break them has limits of its own.
AMPLE = Limits(request_seconds=20.0, model_seconds=60.0, parallel_reads=8)
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


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


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, "requests_ca_bundle", "curl_ca_bundle"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def read_info(session: HubSession, budget: ReadBudget | None = None) -> HubResponse:
    """Return the description of the model, read on this thread."""
    url = info_url(session.endpoint, "org/name", None)
    request = HubRequest(url, HubResource("org/name"), "info_bytes")
    return session.get(request, budget or ReadBudget("org/name", AMPLE))


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path) -> Path:
    """Return the file of trusted authorities."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture
def tls_hub(authority: trustme.CA) -> Iterator[HubEmulator]:
    """Yield a Hub with a certificate of 127.0.0.1."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with HubEmulator([llama_repo("org/name")], tls=context) as emulator:
        yield emulator
