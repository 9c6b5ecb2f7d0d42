"""Rules of the HTTP client that need no network: redirects, refusals, waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    HubRateLimited,
    HubUnreachable,
    LimitsExceeded,
    ModelNotFound,
    PrivateOrMissing,
    RepoFileNotFound,
    RevisionNotFound,
)
from scrapers.client.failures import HubResource, pause_seconds, retry_after_seconds, status_error
from scrapers.client.read_budget import ReadBudget
from scrapers.client.redirects import is_allowed_target
from scrapers.limits import Limits

HUB = "https://huggingface.co"
LOCAL = "http://127.0.0.1:8000"
MIRROR = "https://mirror.example:8443/hub"

# endpoint, target, whether it may be followed
TARGETS = [
    (HUB, "https://huggingface.co/api/models/x", True),
    (HUB, "https://HUGGINGFACE.CO:443/x", True),
    (HUB, "https://cdn-lfs.huggingface.co/x", True),
    (HUB, "https://us.aws.cdn.hf.co/xet-bridge-us/x?Signature=y", True),
    (HUB, "https://hf.co/x", True),
    (HUB, "http://huggingface.co/x", False),
    (HUB, "https://huggingface.co:8443/x", False),
    (HUB, "https://huggingface.co.example.org/x", False),
    (HUB, "https://evilhuggingface.co/x", False),
    (HUB, "https://evil-hf.co/x", False),
    (HUB, "https://example.org/x", False),
    (HUB, "https://user@huggingface.co/x", False),
    (HUB, "https://huggingface.co@example.org/x", False),
    (HUB, "https://example.org\\@huggingface.co/x", False),
    (HUB, "https://exam\tple.org/x", False),
    (HUB, "https://127.0.0.1/x", False),
    (HUB, "http://127.0.0.1/x", False),
    (HUB, "https://[::1]/x", False),
    (HUB, "http://169.254.169.254/latest/meta-data", False),
    (HUB, "https://10.0.0.1/x", False),
    (HUB, "https://0x7f000001/x", False),
    (HUB, "file:///etc/passwd", False),
    (HUB, "ftp://huggingface.co/x", False),
    (HUB, "//huggingface.co/x", False),
    (HUB, "https://huggingface.co:99999/x", False),
    (HUB, "https://[bad/x", False),
    (HUB, "", False),
    (MIRROR, "https://mirror.example:8443/other", True),
    (MIRROR, "https://mirror.example/x", True),
    (MIRROR, "https://cdn.mirror.example/x", True),
    (MIRROR, "https://us.aws.cdn.hf.co/x", True),
    (MIRROR, "http://mirror.example:8443/x", False),
    (MIRROR, "https://example/x", False),
    (LOCAL, "http://127.0.0.1:8000/x", True),
    (LOCAL, "http://127.0.0.1:9000/x", False),
    (LOCAL, "http://127.0.0.2:9000/x", False),
    (LOCAL, "http://localhost:9000/x", False),
    (LOCAL, "https://127.0.0.1:9000/x", False),
    (LOCAL, "http://[::1]:9000/x", False),
    (LOCAL, "http://127.1:9000/x", False),
    (LOCAL, "http://2130706433/x", False),
    (LOCAL, "http://0.0.0.0:9000/x", False),
    (LOCAL, "http://10.0.0.1/x", False),
    (LOCAL, "http://169.254.169.254/x", False),
    (LOCAL, "https://huggingface.co/x", False),
    ("http://hub.internal", "http://hub.internal/x", True),
    ("http://hub.internal", "http://hub.internal:81/x", False),
    ("http://hub.internal", "http://127.0.0.1/x", False),
    ("http://hub.internal", "https://huggingface.co/x", True),
]


@pytest.mark.parametrize("endpoint, target, allowed", TARGETS)
def test_redirect_targets(endpoint: str, target: str, allowed: bool) -> None:
    assert is_allowed_target(target, endpoint) is allowed


def test_named_cdn_origins() -> None:
    named = ("http://127.0.0.1:9000", "https://cdn.example")
    assert is_allowed_target("http://127.0.0.1:9000/x", LOCAL, named)
    assert is_allowed_target("https://cdn.example/x", HUB, named)
    assert not is_allowed_target("http://127.0.0.1:9001/x", LOCAL, named)
    assert not is_allowed_target("https://cdn.example:8443/x", HUB, named)


ASKED = HubResource("org/name", "v1", "config.json")
REPO = HubResource("org/name", "v1")

REFUSALS: list[tuple[int, dict[str, str], HubResource, GpusizerError]] = [
    (404, {"X-Error-Code": "RepoNotFound"}, REPO, ModelNotFound(repo_id="org/name")),
    (401, {"X-Error-Code": "RepoNotFound"}, REPO, ModelNotFound(repo_id="org/name")),
    (
        404,
        {"X-Error-Code": "RevisionNotFound"},
        REPO,
        RevisionNotFound(repo_id="org/name", revision="v1"),
    ),
    (
        404,
        {"X-Error-Code": "EntryNotFound"},
        ASKED,
        RepoFileNotFound(repo_id="org/name", file="config.json"),
    ),
    (401, {"X-Error-Code": "GatedRepo"}, ASKED, GatedModel(repo_id="org/name")),
    (403, {"X-Error-Code": "GatedRepo"}, ASKED, GatedModel(repo_id="org/name")),
    (401, {}, REPO, PrivateOrMissing(repo_id="org/name")),
    (403, {}, ASKED, PrivateOrMissing(repo_id="org/name")),
    (404, {}, REPO, ModelNotFound(repo_id="org/name")),
    (404, {}, ASKED, RepoFileNotFound(repo_id="org/name", file="config.json")),
    (
        429,
        {"Retry-After": "7"},
        REPO,
        HubRateLimited(repo_id="org/name", retry_after_seconds=7.0),
    ),
    (429, {}, REPO, HubRateLimited(repo_id="org/name", retry_after_seconds=None)),
    (503, {}, REPO, HubUnreachable(repo_id="org/name", reason="server_error")),
    (418, {}, REPO, HubUnreachable(repo_id="org/name", reason="unexpected_answer")),
]


@pytest.mark.parametrize("status, headers, asked, expected", REFUSALS)
def test_refusals(
    status: int, headers: dict[str, str], asked: HubResource, expected: GpusizerError
) -> None:
    error = status_error(status, headers, asked)
    assert type(error) is type(expected)
    assert error.fields == expected.fields


@pytest.mark.parametrize(
    "status, headers, seconds",
    [
        (429, {"Retry-After": "12"}, 12.0),
        (503, {"Retry-After": "1.5"}, None),  # RFC 9110, 10.2.3: whole seconds
        (429, {"RateLimit": '"api";r=0;t=295'}, 295.0),
        (503, {"RateLimit": '"api";r=499;t=295'}, None),
        (429, {"Retry-After": "3", "RateLimit": '"api";r=0;t=295'}, 3.0),
        (429, {"Retry-After": "soon"}, None),
        (429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        (429, {"RateLimit": "nonsense"}, None),
        (429, {"RateLimit": '"api";r=489;t=189'}, None),
        (429, {}, None),
    ],
)
def test_retry_after(status: int, headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(status, headers) == seconds


def test_retry_after_as_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=60)
    seconds = retry_after_seconds(429, {"Retry-After": format_datetime(moment, usegmt=True)})
    assert seconds is not None
    assert 58 < seconds <= 60


def test_pauses_grow_and_keep_to_the_hint() -> None:
    assert 0.1 <= pause_seconds(0, None) <= 0.3
    assert 0.4 <= pause_seconds(2, None) <= 1.2
    assert pause_seconds(50, None) <= 7.5
    assert 7 <= pause_seconds(0, 7.0) <= 7.1


def test_budget_ends_at_its_deadline() -> None:
    now = [100.0]
    budget = ReadBudget("org/name", Limits(model_seconds=5), lambda: now[0])
    now[0] = 103.0
    assert budget.seconds_left() == 2.0
    now[0] = 105.0
    with pytest.raises(HubUnreachable, match="timeout"):
        budget.seconds_left()


def test_abandoned_budget_ends_at_once() -> None:
    budget = ReadBudget("org/name", Limits())
    budget.abandon()
    budget.pause(60)
    with pytest.raises(HubUnreachable):
        budget.seconds_left()


def test_budget_has_a_byte_budget() -> None:
    budget = ReadBudget("org/name", Limits(total_bytes=10))
    budget.count("total_bytes", 10)
    with pytest.raises(LimitsExceeded) as caught:
        budget.count("total_bytes", 1)
    assert caught.value.fields == {"repo_id": "org/name", "limit": "total_bytes", "allowed": 10}
