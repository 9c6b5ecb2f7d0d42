"""Who asks, from the middleware that sees a request first to whatever works for it."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

_STATE = "state"
"""Where a scope holds what Starlette calls the state of a request; it goes wherever the scope does:
Gradio's queue and its MCP server keep the request itself, and no context of it."""
_VISITOR = "visitor"


def with_asker(scope: Scope, visitor: str | None) -> Scope:
    """Return the scope with the key of its visitor, None where visitors are not told apart."""
    return {**scope, _STATE: {**scope.get(_STATE, {}), _VISITOR: visitor}}


def asker_of(request: Any) -> str | None:
    """Return the key of the visitor of a request: Starlette's, Gradio's around one, or none."""
    scope = getattr(getattr(request, "request", None) or request, "scope", None) or {}
    visitor = scope.get(_STATE, {}).get(_VISITOR)
    return visitor if isinstance(visitor, str) else None
