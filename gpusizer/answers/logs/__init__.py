"""What engines print when they start and when they are measured, and the errors of predictions."""

from __future__ import annotations

from gpusizer.answers.logs.parse import parse_log
from gpusizer.answers.logs.rules import LogReading, ParsedLog

__all__ = ["LogReading", "ParsedLog", "parse_log"]
