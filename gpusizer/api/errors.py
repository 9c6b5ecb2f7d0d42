"""The error object."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from gpusizer.api.base import SCHEMA_VERSION, AnswerModel, Document
from gpusizer.core.errors import GpusizerError


class ErrorInfo(AnswerModel):
    """Reason for a missing answer; an error of a request also has `field`, `value` and `reason`."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class ErrorAnswer(AnswerModel):
    """Answer to a question that failed."""

    schema_version: int
    error: ErrorInfo = Field(description="its code, the sentence and its figures")


def error_document(error: GpusizerError, message: str, repo_id: str | None = None) -> Document:
    """Return the error object as plain values."""
    return error_answer(error, message, repo_id).document()


def error_answer(error: GpusizerError, message: str, repo_id: str | None = None) -> ErrorAnswer:
    """Return the error object."""
    about = {} if repo_id is None else {"repo_id": repo_id}
    facts = {"code": error.code, "message": message, **about, **error.fields}
    return ErrorAnswer.from_json({"schema_version": SCHEMA_VERSION, "error": facts})
