"""What is told of requests to the Hub: kind and status, of every hop."""

from __future__ import annotations

import contextlib
from collections import Counter

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from scrapers.fetcher import Fetcher
from scrapers.hub_calls import kind_of
from tests.each import each
from tests.hub_emulator import Fault, HubEmulator, llama_repo
from tests.scrapers.conftest import settings_of

HUB = "https://huggingface.co"
MIRROR = "http://mirror.test:81/hub"


@each(
    "url, endpoint, kind",
    [
        (f"{HUB}/api/models/a/b?blobs=true", HUB, "api"),
        (f"{HUB}/a/b/resolve/main/config.json", HUB, "resolver"),
        (f"{HUB}/api/resolve-cache/models/a/b/0123/config.json", HUB, "resolver"),
        (f"{HUB}/api-org/b/resolve/main/config.json", HUB, "resolver"),
        ("https://cas-bridge.xethub.hf.co/x", HUB, "cdn"),
        (f"{MIRROR}/api/models/a/b", MIRROR, "api"),
        (f"{MIRROR}/a/b/resolve/main/x", MIRROR, "resolver"),
        ("http://mirror.test:82/hub/api/models/a/b", MIRROR, "cdn"),
    ],
)
def test_kinds(url: str, endpoint: str, kind: str) -> None:
    assert kind_of(url, endpoint) == kind


Call = tuple[str, int | None]


def calls_of(hub: HubEmulator, settings: Settings) -> list[Call]:
    """What is told while a model is read, or cannot be."""
    calls: list[Call] = []
    fetch = Fetcher(settings, lambda kind, status: calls.append((kind, status)))
    with contextlib.suppress(ModelUnreadable):
        fetch(ModelRef("org/name"))
    return calls


def test_every_request_is_told(hub: HubEmulator) -> None:
    hub.add(llama_repo("org/name", shards=4))
    settings = settings_of(hub)
    calls = calls_of(hub, settings)
    assert len(calls) == len(hub.requests)
    kinds = Counter(kind for kind, _ in calls)
    assert kinds["api"] >= 1 and kinds["resolver"] + kinds["cdn"] >= 1
    assert ("api", 200) in calls


def test_a_limit_of_the_hub_is_told(hub: HubEmulator) -> None:
    hub.add(llama_repo("org/name"))
    hub.faults.add(Fault("status", r"/api/models/org/name$", status=429))
    settings = Settings(endpoint=hub.endpoint, timeout_seconds=0.7)
    assert ("api", 429) in calls_of(hub, settings)


def test_a_request_without_an_answer_is_told(hub: HubEmulator) -> None:
    hub.add(llama_repo("org/name"))
    hub.faults.add(Fault("reset"))
    settings = Settings(endpoint=hub.endpoint, timeout_seconds=0.7)
    calls = calls_of(hub, settings)
    assert ("api", None) in calls
    assert {status for _, status in calls} == {None}
