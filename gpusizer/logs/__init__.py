"""Start-up logs of inference engines: what they say, and how far predictions are from it."""

from __future__ import annotations

from gpusizer.logs.parse import parse_log
from gpusizer.logs.parsed import ParsedLog, Reading

__all__ = ["ParsedLog", "Reading", "parse_log"]
