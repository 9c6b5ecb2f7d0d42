"""A log for machines: one JSON object for each line, without text of callers."""

# Texts of a caller, such as a model's ID or a token, and addresses reach a log as arguments of a
# message or as the message of an exception. Neither is written: only a message's template, and an
# exception's type and where it was raised.

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType

FACTS = "facts"  # Name of the extra attribute of a record whose entries are written as they are.

# tokens, addresses and possible model IDs, in templates that a library has filled in
_PRIVATE = re.compile(
    r"hf_\w+|Bearer\s+\S+|https?://\S+|(?:\d{1,3}\.){3}\d{1,3}|[\w.-]+/[\w.-]+"
    r"|(?<![\w:])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])"
)


class JsonFormatter(logging.Formatter):
    """Formatter for JSON: `time`, `level`, `logger`, `message`, its facts, its exception."""

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
    """Write the log as JSON on standard error, and each request. Call it once the server runs."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    # uvicorn sets its own handlers when it starts
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    logging.getLogger(logger_of_requests).setLevel(logging.INFO)


def _frames(trace: TracebackType | None) -> list[str]:
    # module, line and function of each call, the outermost first
    frames = []
    for frame, line in traceback.walk_tb(trace):
        module = frame.f_globals.get("__name__", "?")
        frames.append(f"{module}:{line} {frame.f_code.co_name}")
    return frames
