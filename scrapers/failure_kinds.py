"""What a failure to read the Hub means for those who have other means. Pure."""

from __future__ import annotations

from gpusizer.core.errors import HubRateLimited, HubUnreachable, ModelUnreadable

_TRANSIENT_REASONS = frozenset({"timeout", "connection", "truncated", "server_error"})


def is_hub_unavailable(error: ModelUnreadable) -> bool:
    """Whether the Hub was requested but sent no usable response; false in offline mode."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] != "offline"
    return isinstance(error, HubRateLimited)


def is_transient(error: ModelUnreadable) -> bool:
    """Whether the same request may succeed later: no response arrived, or the Hub was busy."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] in _TRANSIENT_REASONS
    return isinstance(error, HubRateLimited)
