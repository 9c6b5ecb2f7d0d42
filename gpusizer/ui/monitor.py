"""Monitor: all that a running application tells its operator."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.core.settings import Settings
from gpusizer.ui.health import HubState
from gpusizer.ui.metrics import Metrics


class Monitor:
    """The metrics and the state of the Hub, by the settings of the process.

    `shared_is_reachable` asks the cache that several processes share; it returns None where there
    is none.
    """

    def __init__(
        self, settings: Settings, shared_is_reachable: Callable[[], bool | None] = lambda: None
    ) -> None:
        self.settings = settings
        self.shared_is_reachable = shared_is_reachable
        self.metrics = Metrics()
        self.hub = HubState(offline=settings.offline)

    def hub_call(self, kind: str, status: int | None) -> None:
        """Take note of a request to the Hub: its kind and the status of its answer."""
        self.metrics.hub_call(kind, status)
        self.hub.hub_call(kind, status)
