"""The structured log: one object a line, without anything that a stranger wrote."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from gpusizer.core.structured_log import FACTS, JsonFormatter
from tests.each import each


def logged(message: str, *arguments: object, **extra: Any) -> dict[str, Any]:
    record = logging.LogRecord(
        "a.logger", logging.WARNING, "path.py", 1, message, arguments, extra.pop("exc_info", None)
    )
    record.__dict__.update(extra)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    entry: dict[str, Any] = json.loads(text)
    return entry


def test_facts_are_entries_and_arguments_are_left_out() -> None:
    entry = logged("pool of %s is full", "secret-org/model", **{FACTS: {"status": 200}})
    assert entry["message"] == "pool of %s is full"
    assert (entry["level"], entry["logger"], entry["status"]) == ("WARNING", "a.logger", 200)
    assert entry["time"].endswith("+00:00")


@each(
    "private",
    [
        "hf_abcDEF123",
        "Bearer xyz",
        "https://host.example/a?b",
        "203.0.113.9",
        "2001:db8::1",
        "::1",
        "secret-org/secret.model",
    ],
)
def test_a_message_that_was_filled_in_loses_what_is_private(private: str) -> None:
    entry = logged(f"reading {private} failed at 12")
    assert private not in entry["message"]
    assert entry["message"].startswith("reading ") and entry["message"].endswith(" failed at 12")


def test_an_exception_is_its_type_and_its_frames() -> None:
    try:
        raise ValueError("hf_secret of secret-org/model")
    except ValueError:
        entry = logged("unexpected failure", exc_info=sys.exc_info())
    assert entry["exception"]["type"] == "ValueError"
    (frame,) = entry["exception"]["frames"]
    assert frame.endswith("test_an_exception_is_its_type_and_its_frames")
    assert "secret" not in json.dumps(entry)
