"""HubState: what the last request to the Hub says of it."""

from __future__ import annotations

from gpusizer.ui.health import HubState
from tests.each import each


@each(
    "status, state",
    [
        (200, "reached"),
        (404, "reached"),
        (429, "limited"),
        (502, "unreachable"),
        (None, "unreachable"),
    ],
)
def test_the_last_request_counts(status: int | None, state: str) -> None:
    now = 100.0
    hub = HubState(offline=False, clock=lambda: now)
    assert hub.to_json() == {"state": "not_asked", "seconds_ago": None}
    hub.hub_call("resolver", 200)
    hub.hub_call("api", status)
    hub.hub_call("cdn", 503)
    now = 107.4
    assert hub.to_json() == {"state": state, "seconds_ago": 7}
