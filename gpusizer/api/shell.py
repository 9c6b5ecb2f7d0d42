"""Answers to `here` and `check-lock`, which only the shell has."""

from __future__ import annotations

from pydantic import Field

from gpusizer.api.base import (
    SCHEMA_VERSION,
    AnswerContext,
    AnswerModel,
    Beside,
    Notes,
    at,
)
from gpusizer.core.messages import Translate
from gpusizer.usecases.fit_lock import LockCheck


class AskedProgramInfo(AnswerModel):
    """A program that was run to describe this machine."""

    name: str
    state: str = Field(description="read, missing, failed or timeout")


class HereAnswer(AnswerModel):
    """The answer to `here`."""

    machine: str = at("report.text", "in words that requests take")
    asked: list[AskedProgramInfo]
    notes: Notes = at("report.notes")


class LockCheckAnswer(AnswerModel):
    """The answer to `check-lock`."""

    schema_version: int
    holds: bool | None = Field(description="null if it cannot be told")
    made: str = at("lock.made", "the day of the lock")
    doubts: Notes = Field(description="why it cannot be told")
    misses: Notes = Field(description="what was asked for and does not hold")
    changes: Notes = Field(description="since the lock was made")


def here_answer(machine: object, say: Translate) -> HereAnswer:
    """Return the answer about this machine; `say` writes its sentences."""
    return HereAnswer.from_record(machine, AnswerContext(say))


def lock_check_answer(checked: LockCheck, say: Translate) -> LockCheckAnswer:
    """Return the answer of a check of a lock; `say` writes its sentences."""
    record = Beside(checked, schema_version=SCHEMA_VERSION)
    return LockCheckAnswer.from_record(record, AnswerContext(say))
