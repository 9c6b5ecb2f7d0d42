"""HubEmulator: a Hub and its CDN on two loopback ports."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any, Self

from tests.hub_emulator.catalog import Catalog
from tests.hub_emulator.cdn import CdnSite
from tests.hub_emulator.connection import Server
from tests.hub_emulator.faults import Faults
from tests.hub_emulator.gate import Gate
from tests.hub_emulator.hub import HubSite
from tests.hub_emulator.log import LoggedRequest, RequestLog, round_trips
from tests.hub_emulator.messages import Host
from tests.hub_emulator.options import Options
from tests.hub_emulator.repos import FakeRepo

HUB_ADDRESS = "127.0.0.1"


class HubEmulator:
    """A Hub that serves the given repositories from construction to `close`.

    Keyword arguments are the fields of `Options`; `port` is the Hub's, 0 for a free one; with
    `tls` both hosts speak https.
    """

    def __init__(
        self,
        repos: Iterable[FakeRepo] = (),
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        **options: Any,
    ) -> None:
        self.options = Options(**options)
        self.catalog = Catalog(repos, self.options)
        self.faults = Faults()
        self.log = RequestLog()
        cdn_site = CdnSite()
        hub_site = HubSite(self.catalog, cdn_site)
        self._gate = Gate()
        shared = (self.log, self.faults, self.options, self._gate, tls)
        self._hub = Server((HUB_ADDRESS, port), "hub", hub_site.answer, *shared)
        self._cdn = Server((HUB_ADDRESS, 0), "cdn", cdn_site.answer, *shared)
        hub_site.endpoint = self.endpoint = self._hub.endpoint
        cdn_site.endpoint = self.cdn_endpoint = self._cdn.endpoint
        self._hub.start()
        self._cdn.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def requests(self) -> list[LoggedRequest]:
        """The requests so far, in order of arrival."""
        return self.log.snapshot()

    @property
    def peak_concurrency(self) -> int:
        """Most requests that waited for an answer at one time."""
        return self.log.peak_concurrency

    @property
    def connections(self) -> int:
        """Connections opened."""
        return self.log.connections

    @property
    def round_trips(self) -> int:
        """The longest chain of consecutive requests."""
        return round_trips(self.requests)

    def requests_to(self, host: Host, method: str | None = None) -> list[LoggedRequest]:
        """Return the requests one host got."""
        return [
            request
            for request in self.requests
            if request.host == host and method in (None, request.method)
        ]

    def reset_log(self) -> None:
        """Start the log and its counts again."""
        self.log.reset()

    def expect_waves(self, *requests: int) -> None:
        """Clear the log, and answer no request of a wave before all its requests arrived."""
        self.reset_log()
        self._gate.announce(requests)

    def add(self, repo: FakeRepo) -> FakeRepo:
        """Add a repository, or replace the one of that id."""
        self.catalog.add(repo)
        return repo

    def close(self) -> None:
        """Stop both hosts; raise the first error inside the emulator, if there was one."""
        self._gate.announce(())
        self._hub.stop()
        self._cdn.stop()
        errors = self._hub.internal_errors + self._cdn.internal_errors
        if errors:
            raise RuntimeError("the emulator failed to answer a request") from errors[0]
