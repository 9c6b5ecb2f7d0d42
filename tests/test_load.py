"""bench.load: what counts as an error, and what the Hub of the bench does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from bench.emulated_hub import Hub, hub_process
from bench.load.scenarios import repositories
from bench.load.visitors import Outcome, model_id
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.ui.server.http_status import RETRY_AFTER_SECONDS
from scrapers.fetcher import Fetcher
from tests.hub_emulator.faults import Fault


@pytest.mark.parametrize(
    "outcome, kind",
    [
        (Outcome(0.1, 200), "ok"),
        (Outcome(0.1, 304), "ok"),
        (Outcome(0.1, 429, "hub_rate_limited", 60), "refused"),
        (Outcome(0.1, 503, "server_busy", 2), "refused"),
        (Outcome(0.1, 503, "server_busy"), "error"),
        (Outcome(0.1, 500, "internal"), "error"),
        (Outcome(0.1, 0, "ReadError"), "error"),
        (Outcome(0.1, 200, "hub_unreachable"), "refused"),
        (Outcome(0.1, 200, "internal"), "error"),
    ],
)
def test_what_is_refused_says_when_to_come_again(outcome: Outcome, kind: str) -> None:
    assert outcome.kind == kind
    assert {429, 503} == set(RETRY_AFTER_SECONDS)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with hub_process(partial(repositories, 3)) as hub:
        yield hub


def test_the_hub_of_the_bench_counts_and_fails_as_told(hub: Hub) -> None:
    fetch = Fetcher(Settings(endpoint=hub.endpoint, cdn_origins=(hub.cdn_endpoint,)))
    assert fetch(ModelRef(model_id(1))).repo_id == model_id(1)
    requests = hub.requests()
    hub.fail(Fault("reset"))
    assert requests == 4
    hub.reset()
    assert hub.requests() == 0
