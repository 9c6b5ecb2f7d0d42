"""What our middleware reads of a request."""

from __future__ import annotations

from starlette.types import Scope


def path_of(scope: Scope, method: str) -> str:
    """Path below the root of the application; "" for another method and for what is no request."""
    if scope["type"] != "http" or scope["method"] != method:
        return ""
    return str(scope["path"]).removeprefix(scope.get("root_path", "").rstrip("/"))
