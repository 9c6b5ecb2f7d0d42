"""What is told of every request to the Hub: its kind and the status of its answer."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from scrapers.redirects import origin_of

OnCall = Callable[[str, int | None], None]
"""Takes the kind of a request and the status of its answer, None where none came."""


def ignore_call(kind: str, status: int | None) -> None:
    """Take no notice of a request."""


def kind_of(url: str, endpoint: str) -> str:
    """The allowance that a request counts against: "api", "resolver" for files, or "cdn".

    The Hub limits requests to its API and to its files apart, those to its CDN not at all
    (docs/hub/rate-limits). `/api/resolve-cache/`, where small files lie, is a resolver as well.

    >>> kind_of("https://huggingface.co/api/models/a/b?blobs=true", "https://huggingface.co")
    'api'
    """
    if origin_of(url) != origin_of(endpoint):
        return "cdn"
    below = urlsplit(url).path.removeprefix(urlsplit(endpoint).path)
    is_api = below.startswith("/api/") and not below.startswith("/api/resolve-cache/")
    return "api" if is_api else "resolver"
