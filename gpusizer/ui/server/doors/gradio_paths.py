"""Paths of Gradio's routes: the page and the route within it."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpusizer.text import LANGUAGES

_PATTERN = re.compile(rf"(?:/(?P<page>{'|'.join(LANGUAGES)}))?/gradio_api/(?P<route>.+)")

ENDPOINTS = ""  # page of a route at the root, with the endpoints


class GradioPath(NamedTuple):
    """A route of Gradio."""

    page: str  # code of a language, or ENDPOINTS
    route: str  # path below `/gradio_api/`, without a final slash


def gradio_path(path: str) -> GradioPath | None:
    """Return the page and route of a path, below any proxy's prefix, or None.

    >>> gradio_path("/gradio_api/queue/join"), gradio_path("/below/zh/gradio_api/call/x/")
    (GradioPath(page='', route='queue/join'), GradioPath(page='zh', route='call/x'))
    """
    match = _PATTERN.search(path)
    if match is None:
        return None
    return GradioPath(match["page"] or ENDPOINTS, match["route"].rstrip("/"))
