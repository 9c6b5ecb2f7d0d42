"""HubSession over proxies and TLS: the environment's proxies, trusted and foreign certificates."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from gpusizer.core.errors import (
    HubUnreachable,
)
from gpusizer.hub.model_ref import ModelRef
from scrapers.client.http import HubSession
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    llama_repo,
)
from tests.scrapers.conftest import AMPLE, Fetch, read_info

REF = ModelRef("org/name")


@pytest.fixture(autouse=True)
def repo(hub: HubEmulator) -> FakeRepo:
    return hub.add(llama_repo("org/name"))


class TestProxies:
    """The environment's proxies, as requests reads them; an emulated Hub plays the proxy."""

    def test_requests_to_an_http_proxy_name_the_hubs_host(
        self, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("http_proxy", hub.endpoint)
        with HubSession("http://hub.test:81", cdn_origins=(hub.cdn_endpoint,)) as session:
            assert fetch_snapshot(REF, session, AMPLE).components[0].tensors
        hosts = {request.headers["host"] for request in hub.requests_to("hub")}
        assert hosts == {"hub.test:81"}

    def test_credentials_of_the_proxy_url_are_sent_to_the_proxy(
        self, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("all_proxy", hub.endpoint.replace("//", "//me:se%40cret@"))
        with HubSession("http://hub.test") as session:
            read_info(session)
        (request,) = hub.requests
        basic = b64encode(b"me:se@cret").decode()
        assert request.headers["proxy-authorization"] == f"Basic {basic}"

    def test_a_proxy_sees_nothing_of_https_but_the_host(
        self, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("https_proxy", hub.endpoint)
        with (
            HubSession("https://hub.test") as session,
            pytest.raises(HubUnreachable, match="connection"),
        ):
            read_info(session)
        assert {request.method for request in hub.requests} == {"CONNECT"}
        assert {request.path for request in hub.requests} == {"hub.test:443"}

    def test_loopback_needs_no_proxy(
        self, hub: HubEmulator, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
        assert fetch().components[0].tensors

    def test_a_proxy_of_an_unknown_kind_is_not_gone_around(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
        with (
            HubSession("http://hub.test") as session,
            pytest.raises(HubUnreachable, match="connection"),
        ):
            read_info(session)


class TestCertificates:
    def test_a_trusted_hub_is_read_over_reused_connections(
        self, tls_hub: HubEmulator, trusted: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
        with HubSession(tls_hub.endpoint, cdn_origins=(tls_hub.cdn_endpoint,)) as session:
            assert fetch_snapshot(REF, session, AMPLE).components[0].tensors
            tls_hub.reset_log()
            read_info(session)
            assert (len(tls_hub.requests), tls_hub.connections) == (1, 0)

    def test_nobody_else_is_trusted(self, tls_hub: HubEmulator) -> None:
        with (
            HubSession(tls_hub.endpoint) as session,
            pytest.raises(HubUnreachable, match="connection"),
        ):
            read_info(session)
        assert tls_hub.requests == []

    def test_a_certificate_of_another_host_is_not_trusted(
        self, tls_hub: HubEmulator, trusted: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(trusted))
        with (
            HubSession(tls_hub.endpoint.replace("127.0.0.1", "localhost")) as session,
            pytest.raises(HubUnreachable, match="connection"),
        ):
            read_info(session)
        assert tls_hub.requests == []


# A byte every tenth of a second: no wait is as long as the read timeout.
