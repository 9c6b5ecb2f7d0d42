"""Closed routes: public ones of Gradio that nothing here uses, answered as unknown.

Gradio (6.31, gradio/routes.py) serves them for every Blocks, whatever its components are.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpusizer.text import LANGUAGES

# beginnings of routes below `/gradio_api/`
CLOSED = (
    "api/",  # calls without the queue, which every listener of ours waits in
    "component_server",  # calls methods of components; ours have none
    "custom_component/",  # reads files of packages
    "deep_link",  # writes a session's components to the disk
    "dev/",  # reloads the program
    "file/",
    "file=",  # reads files, and streams any public address to any caller
    "process_recording",  # takes files
    "profiling/",
    "proxy=",  # asks other Spaces with a token
    "run-history/",
    "run/",  # as "api/"
    "runs",
    "stream/",
    "undo-vibe-edit",
    "upload",  # takes files, a megabyte each and any number of them
    "upload_progress",
    "vibe-",
)
_PATTERN = re.compile(
    rf"/gradio_api/(?:{'|'.join(map(re.escape, CLOSED))})|(?:^|/)(?:deep_link|monitoring)(?:/|$)"
    # Visitors of every page sign in and out at the root.
    rf"|/(?:{'|'.join(LANGUAGES)})/log(?:in|out)(?:/|$)"
)


def is_closed(path: str) -> bool:
    """Return whether a path is one of these routes, of any page and below any proxy's prefix.

    >>> is_closed("/gradio_api/upload"), is_closed("/zh/monitoring/summary"), is_closed("/zh")
    (True, True, False)
    """
    return _PATTERN.search(path) is not None


class ClosedRoutes:
    """ASGI middleware that answers 404 for closed routes, as Gradio does for unknown ones."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on unless its route is closed."""
        if scope["type"] == "http" and is_closed(scope["path"]):
            refusal = JSONResponse({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
