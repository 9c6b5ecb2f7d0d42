"""Monitor: all that a running application tells its operator."""

from __future__ import annotations

from gpusizer.core.settings import Settings
from gpusizer.ui.health import HubState
from gpusizer.ui.metrics import Metrics


class Monitor:
    """The metrics and the state of the Hub, by the settings of the process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.hub = HubState(offline=settings.offline)

    def hub_call(self, kind: str, status: int | None) -> None:
        """Take note of a request to the Hub: its kind and the status of its answer."""
        self.metrics.hub_call(kind, status)
        self.hub.hub_call(kind, status)
