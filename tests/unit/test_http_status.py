"""How long a caller is asked to wait."""

from __future__ import annotations

from gpusizer.core.errors import (
    GpusizerError,
    HubRateLimited,
    HubUnreachable,
    InvalidRequest,
    ServerBusy,
)
from gpusizer.ui.http_status import retry_after_seconds
from tests.each import each


@each(
    "error, seconds",
    [
        (HubRateLimited(repo_id="a/b", retry_after_seconds=0.2), 1),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=120), 120),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=1e9), 3600),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=float("inf")), 60),
        (HubRateLimited(repo_id="a/b", retry_after_seconds=None), 60),
        (HubUnreachable(repo_id="a/b", reason="timeout"), 5),
        (ServerBusy(retry_after_seconds=2), 2),
        (InvalidRequest(field="context", value="x", reason="number"), None),
        (GpusizerError(), None),
    ],
)
def test_seconds_to_wait(error: GpusizerError, seconds: int | None) -> None:
    assert retry_after_seconds(error) == seconds
