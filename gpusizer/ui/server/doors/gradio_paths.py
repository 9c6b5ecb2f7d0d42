"""Paths of Gradio's routes: of which page, and which route of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from gpusizer.text import LANGUAGES

_PATTERN = re.compile(rf"(?:/(?P<page>{'|'.join(LANGUAGES)}))?/gradio_api/(?P<route>.+)")

ENDPOINTS = ""
"""The page of a route at the root, where the endpoints are."""


class GradioPath(NamedTuple):
    """A route by its page, the code of a language or ENDPOINTS, and its path below `/gradio_api/`,
    without a slash at its end."""

    page: str
    route: str


def gradio_path(path: str) -> GradioPath | None:
    """Return which of Gradio's routes a path is, below any prefix of a proxy; None for another.

    >>> gradio_path("/gradio_api/queue/join"), gradio_path("/below/zh/gradio_api/call/x/")
    (GradioPath(page='', route='queue/join'), GradioPath(page='zh', route='call/x'))
    """
    match = _PATTERN.search(path)
    if match is None:
        return None
    return GradioPath(match["page"] or ENDPOINTS, match["route"].rstrip("/"))
