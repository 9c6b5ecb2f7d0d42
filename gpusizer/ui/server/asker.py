"""Visitor of a request, passed from the first middleware to the code that answers."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

# Key of Starlette's request state in a scope; it goes wherever the scope does: Gradio's queue and
# its MCP server keep the request itself, and no context of it.
_STATE = "state"
_VISITOR = "visitor"


def with_asker(scope: Scope, visitor: str | None) -> Scope:
    """Return the scope with the key of its visitor, None if visitors are not distinguished."""
    return {**scope, _STATE: {**scope.get(_STATE, {}), _VISITOR: visitor}}


def asker_of(request: Any) -> str | None:
    """Return the key of a request's visitor: Starlette's, Gradio's around one, or None."""
    scope = getattr(getattr(request, "request", None) or request, "scope", None) or {}
    visitor = scope.get(_STATE, {}).get(_VISITOR)
    return visitor if isinstance(visitor, str) else None
