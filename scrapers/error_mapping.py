"""Maps the Hub's HTTP statuses and failed connections to the errors of gpusizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from requests import RequestException, Timeout
from urllib3.exceptions import HTTPError, ProtocolError, TimeoutError

from gpusizer.core.errors import (
    GatedModel,
    HubRateLimited,
    HubUnreachable,
    ModelNotFound,
    ModelUnreadable,
    PrivateOrMissing,
    RepoFileNotFound,
    RevisionNotFound,
)
from scrapers.retries import retry_after_seconds

TransportError = (RequestException, HTTPError)
"""Exceptions of requests, and those that urllib3 raises while a body is streamed."""


@dataclass(frozen=True, slots=True)
class HubResource:
    """The repository, revision and file of a request, for the fields of its errors."""

    repo_id: str
    revision: str = "main"
    path: str = ""


ErrorFactory = Callable[[HubResource], ModelUnreadable]

# Values of the X-Error-Code header, as in huggingface_hub.utils.hf_raise_for_status.
_BY_CODE: dict[str, ErrorFactory] = {
    "RepoNotFound": lambda resource: ModelNotFound(repo_id=resource.repo_id),
    "RevisionNotFound": lambda resource: RevisionNotFound(
        repo_id=resource.repo_id, revision=resource.revision
    ),
    "EntryNotFound": lambda resource: RepoFileNotFound(
        repo_id=resource.repo_id, file=resource.path
    ),
    "GatedRepo": lambda resource: GatedModel(repo_id=resource.repo_id),
}

# Responses without that header: a private or missing repository (401), a disabled one (403).
_BY_STATUS: dict[int, ErrorFactory] = {
    401: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
    403: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
    404: lambda resource: (
        RepoFileNotFound(repo_id=resource.repo_id, file=resource.path)
        if resource.path
        else ModelNotFound(repo_id=resource.repo_id)
    ),
    410: lambda resource: ModelNotFound(repo_id=resource.repo_id),
    451: lambda resource: PrivateOrMissing(repo_id=resource.repo_id),
}


def status_error(status: int, headers: Mapping[str, str], resource: HubResource) -> ModelUnreadable:
    """Return the error for a response with a status of 400 or more."""
    if status == 429:
        seconds = retry_after_seconds(status, headers)
        return HubRateLimited(repo_id=resource.repo_id, retry_after_seconds=seconds)
    factory = _BY_CODE.get(headers.get("X-Error-Code", "")) or _BY_STATUS.get(status)
    if factory is not None:
        return factory(resource)
    reason = "server_error" if status >= 500 else "unexpected_answer"
    return HubUnreachable(repo_id=resource.repo_id, reason=reason)


def transport_error(error: RequestException | HTTPError, resource: HubResource) -> HubUnreachable:
    """Return the error for a failed connection: "timeout", "truncated" or "connection".

    urllib3 raises ProtocolError for a body that ends too early. Before the status line and
    headers have arrived, requests wraps it in its own ConnectionError.
    """
    reason = "connection"
    if isinstance(error, (Timeout, TimeoutError)):
        reason = "timeout"
    elif isinstance(error, ProtocolError):
        reason = "truncated"
    return HubUnreachable(repo_id=resource.repo_id, reason=reason)
