"""From the Hub's error answers to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpusizer.errors import (
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request was about, for the error it may end in."""

    repo_id: str
    revision: str = "main"
    path: str = ""


Refusal = Callable[[Asked], ModelUnreadable]

# X-Error-Code, as huggingface_hub.utils.hf_raise_for_status knows them.
_BY_CODE: dict[str, Refusal] = {
    "RepoNotFound": lambda asked: ModelNotFound(repo_id=asked.repo_id),
    "RevisionNotFound": lambda asked: RevisionNotFound(
        repo_id=asked.repo_id, revision=asked.revision
    ),
    "EntryNotFound": lambda asked: RepoFileNotFound(repo_id=asked.repo_id, file=asked.path),
    "GatedRepo": lambda asked: GatedModel(repo_id=asked.repo_id),
}

# Answers without a code: a private or missing repository (401), a disabled one (403).
_BY_STATUS: dict[int, Refusal] = {
    401: lambda asked: PrivateOrMissing(repo_id=asked.repo_id),
    403: lambda asked: PrivateOrMissing(repo_id=asked.repo_id),
    404: lambda asked: (
        RepoFileNotFound(repo_id=asked.repo_id, file=asked.path)
        if asked.path
        else ModelNotFound(repo_id=asked.repo_id)
    ),
    410: lambda asked: ModelNotFound(repo_id=asked.repo_id),
    451: lambda asked: PrivateOrMissing(repo_id=asked.repo_id),
}


def refusal(status: int, headers: Mapping[str, str], asked: Asked) -> ModelUnreadable:
    """The error an answer with a status of 400 or more means."""
    if status == 429:
        wait = retry_after_seconds(status, headers)
        return HubRateLimited(repo_id=asked.repo_id, retry_after_seconds=wait)
    by_code = _BY_CODE.get(headers.get("X-Error-Code", ""))
    if by_code is not None:
        return by_code(asked)
    by_status = _BY_STATUS.get(status)
    if by_status is not None:
        return by_status(asked)
    reason = "server_error" if status >= 500 else "unexpected_answer"
    return HubUnreachable(repo_id=asked.repo_id, reason=reason)


def may_pass(error: ModelUnreadable) -> bool:
    """Whether the same question may be answered later: no answer, or a busy Hub."""
    if isinstance(error, HubUnreachable):
        return error.fields["reason"] in _PASSING_REASONS
    return isinstance(error, HubRateLimited)


_PASSING_REASONS = frozenset({"timeout", "connection", "truncated", "server_error"})
