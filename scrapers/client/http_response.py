"""HubResponse: the response to one request, read within the limits of its model."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

import requests

from gpusizer.core.errors import HubUnreachable
from scrapers.client.failures import HubResource
from scrapers.client.read_budget import ReadBudget

PARTIAL = 206
RANGE_NOT_SATISFIABLE = 416

_PIECE_BYTES = 2**16
# Bodies of redirects and errors are read only so that the connection can be used again.
_DISCARDED_BYTES = 2**16
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A GET request to the Hub."""

    url: str  # its URL, at the endpoint
    resource: HubResource  # repository, revision and path, for the fields of errors
    limit: str  # attribute of Limits that bounds the bytes of the body
    # first byte and last byte + 1 of the range, None for the whole resource
    span: tuple[int, int] | None = None
    # tries before a failure is raised, None for as many as Limits allow
    attempts: int | None = None
    seconds: float | None = None  # time for all attempts, None for as long as the model may take
    # whether the Hub's file list has the file, so that 404 is a wrong response
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class HubResponse:
    """A response after all redirects."""

    status: int  # HTTP status of the last hop
    # the whole body, or exactly the requested span (shorter only at the file's end); empty for an
    # error
    body: bytes
    headers: Mapping[str, str]  # headers of the last hop
    total_bytes: int | None = None  # size of the whole file, None if the headers do not give it
    url: str = ""  # URL of the last hop


def read_response(
    response: requests.Response,
    request: HubRequest,
    budget: ReadBudget,
    deadline: float,
) -> HubResponse:
    """Read the body of a response that is not a redirect, or the requested span of it.

    Raises LimitsExceeded, HubUnreachable ("timeout"; "unexpected_answer" for another range than the
    requested one), or an exception of requests or urllib3.
    """
    status, headers, url = response.status_code, response.headers, response.url
    start, stop = request.span or (0, getattr(budget.limits, request.limit))
    first, total_bytes = _content_range(headers)
    if status >= 400:
        discard_body(response, budget, deadline)
        return HubResponse(status, b"", headers, total_bytes, url)
    if status == PARTIAL and first != start:
        raise HubUnreachable(repo_id=request.resource.repo_id, reason="unexpected_answer")
    # A server that ignores the Range header sends the bytes before the span, too: skip them.
    skipped_bytes = 0 if status == PARTIAL else start
    body = _read_body(response, skipped_bytes + stop - start, budget, deadline)
    if request.span is None and len(body) > stop:
        raise budget.exceeded(request.limit)
    if skipped_bytes or len(body) > stop - start:
        body = body[skipped_bytes : skipped_bytes + stop - start]
    return HubResponse(status, body, headers, total_bytes, url)


def discard_body(response: requests.Response, budget: ReadBudget, deadline: float) -> None:
    """Read a short body to its end, so that its connection can be used again."""
    _read_body(response, _DISCARDED_BYTES, budget, deadline)


def _read_body(
    response: requests.Response, max_bytes: int, budget: ReadBudget, deadline: float
) -> bytes:
    # A longer body is cut to `max_bytes` + 1 bytes.
    body = io.BytesIO()  # joining a list of pieces would hold the body in memory twice
    length = 0
    while length <= max_bytes:
        budget.seconds_left(deadline)
        size = min(_PIECE_BYTES, max_bytes + 1 - length)
        # read1 returns the bytes that have arrived, at most `size` after decompression.
        piece = response.raw.read1(size, decode_content=True)
        if not piece:
            break
        budget.count("total_bytes", len(piece))
        body.write(piece)
        length += len(piece)
    return body.getvalue()


def _content_range(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    # The first byte of a partial response (None for a whole one) and the file's size.
    match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if match:
        total_bytes = int(match[3]) if match[3].isdigit() else None
        return (int(match[1]) if match[1] else None), total_bytes
    length = headers.get("Content-Length", "")
    is_whole = length.isdigit() and "Content-Encoding" not in headers
    return None, int(length) if is_whole else None
