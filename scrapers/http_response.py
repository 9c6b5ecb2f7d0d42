"""HubResponse: the answer to one request, read within the limits of its model."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import requests

from gpusizer.core.errors import HubUnreachable
from scrapers.error_mapping import HubResource
from scrapers.read_budget import ReadBudget

PARTIAL = 206
RANGE_NOT_SATISFIABLE = 416

_PIECE_BYTES = 2**16
# Bodies of redirects and errors are read only so that the connection can be used again.
_DISCARDED_BYTES = 2**16
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class HubRequest:
    """One thing to read from the Hub.

    Attributes:
        url: its address, at the endpoint.
        resource: what it is, for errors.
        limit: attribute of Limits that bounds the body.
        span: first byte and last byte + 1, None for everything.
        attempts: tries before a failure counts, None for as many as Limits allow.
        seconds: time for everything, None for as long as the model may take.
        is_listed: the Hub has named it, so that its absence is no answer.
    """

    url: str
    resource: HubResource
    limit: str
    span: tuple[int, int] | None = None
    attempts: int | None = None
    seconds: float | None = None
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class HubResponse:
    """A successful answer, or the head of an error.

    Attributes:
        status: HTTP status of the last hop.
        body: the whole body, or exactly the span asked for (shorter only at the file's end);
            empty for an error.
        headers: of the last hop.
        commit: X-Repo-Commit of any hop.
        total_bytes: size of the whole file, where the answer says it.
        url: address of the last hop.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]
    commit: str | None = None
    total_bytes: int | None = None
    url: str = ""


ReadRange = Callable[[str, tuple[int, int], str | None], HubResponse]
"""Of a file these bytes, by the URL of an earlier answer where there is one."""


def read_response(
    response: requests.Response,
    request: HubRequest,
    budget: ReadBudget,
    deadline: float,
    commit: str | None,
) -> HubResponse:
    """The body of an answer that is no redirect, or as much of it as was asked for.

    Raises LimitsExceeded, HubUnreachable ("timeout"; "unexpected_answer" for another range
    than the one asked for), or what a failed connection raises.
    """
    status, headers, url = response.status_code, response.headers, response.url
    start, stop = request.span or (0, getattr(budget.limits, request.limit))
    first, total_bytes = _content_range(headers)
    if status >= 400:
        discard_body(response, budget, deadline)
        return HubResponse(status, b"", headers, commit, total_bytes, url)
    if status == PARTIAL and first != start:
        raise HubUnreachable(repo_id=request.resource.repo_id, reason="unexpected_answer")
    # Where the Range was ignored, what lies before the span has to be read, but no more.
    skipped = 0 if status == PARTIAL else start
    body = _read_body(response, skipped + stop - start, budget, deadline)
    if request.span is None and len(body) > stop:
        raise budget.exceeded(request.limit)
    if skipped or len(body) > stop - start:
        body = body[skipped : skipped + stop - start]
    return HubResponse(status, body, headers, commit, total_bytes, url)


def discard_body(response: requests.Response, budget: ReadBudget, deadline: float) -> None:
    """Read a short body to its end, so that its connection can be used again."""
    _read_body(response, _DISCARDED_BYTES, budget, deadline)


def _read_body(
    response: requests.Response, most_bytes: int, budget: ReadBudget, deadline: float
) -> bytes:
    """The body, decompressed, up to one byte past `most_bytes`: enough to tell there is more."""
    body = io.BytesIO()  # unlike a list of pieces it is never in memory twice
    length = 0
    while length <= most_bytes:
        budget.seconds_left(deadline)
        size = min(_PIECE_BYTES, most_bytes + 1 - length)
        # read1 returns what has arrived, at most so many bytes of it decompressed.
        piece = response.raw.read1(size, decode_content=True)
        if not piece:
            break
        budget.count_bytes(len(piece))
        body.write(piece)
        length += len(piece)
    return body.getvalue()


def _content_range(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    """First byte of a partial answer (None for a whole one), and size of the whole file."""
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if match:
        total_bytes = int(match[3]) if match[3].isdigit() else None
        return (int(match[1]) if match[1] else None), total_bytes
    length = headers.get("Content-Length", "")
    is_whole = length.isdigit() and "Content-Encoding" not in headers
    return None, int(length) if is_whole else None
