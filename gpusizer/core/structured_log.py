"""A log for machines: one JSON object for each line, made of words of ours alone.

Texts that a caller sent, such as a model's ID or a token, and addresses reach a log as arguments of
a message or as the message of an exception. Neither is written: of a message its template, of an
exception its type and where it was raised.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

FACTS = "facts"
"""Name of the extra attribute of a record whose entries are written as they are."""

_PRIVATE = re.compile(
    r"hf_\w+|Bearer\s+\S+|https?://\S+|(?:\d{1,3}\.){3}\d{1,3}|[\w.-]+/[\w.-]+"
    r"|(?<![\w:])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])"
)
"""Tokens, addresses and what may be a model's ID, in templates that a library has filled in."""


class JsonFormatter(logging.Formatter):
    """Writes a record as JSON: `time`, `level`, `logger`, `message`, its facts, its exception."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        facts: Mapping[str, object] = getattr(record, FACTS, {})
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _PRIVATE.sub("…", str(record.msg)),
            **facts,
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            line["exception"] = {"type": kind.__name__, "frames": _frames(trace)}
        return json.dumps(line)


def log_as_json(logger_of_requests: str) -> None:
    """Write everything that is logged as JSON on standard error, and each request.

    To be called once the server runs: uvicorn sets handlers of its own when it starts.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.getLogger(logger_of_requests).setLevel(logging.INFO)


def _frames(trace: TracebackType | None) -> list[str]:
    """Module, line and function of each call, the outermost first."""
    frames = []
    for frame, line in traceback.walk_tb(trace):
        module = frame.f_globals.get("__name__", "?")
        frames.append(f"{module}:{line} {frame.f_code.co_name}")
    return frames
