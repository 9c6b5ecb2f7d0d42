"""Which lines of a server's log fail the smoke."""

from __future__ import annotations

import logging
import sys

import pytest

from gpusizer.core.printable import PrintableFormatter
from gpusizer.core.structured_log import JsonFormatter
from scripts.smoke import fault_in

START = "* Running on local URL:  http://127.0.0.1:7860\n"


def logged(formatter: logging.Formatter) -> str:
    """A line as the server writes it where an answer fails."""
    try:
        raise AssertionError("a/b")
    except AssertionError:
        exception = sys.exc_info()
    record = logging.LogRecord("gpusizer", logging.ERROR, "", 0, "failure", (), exception)
    return formatter.format(record)


@pytest.mark.parametrize("formatter", [PrintableFormatter(), JsonFormatter()])
def test_an_exception_fails_the_smoke(formatter: logging.Formatter) -> None:
    fault = fault_in(f"{START}{logged(formatter)}\n")
    assert "AssertionError" in fault and START not in fault


@pytest.mark.parametrize(
    "line", ['{"error": {"code": "internal"}}', '"GET /v1" 500 Internal Server Error']
)
def test_an_answer_without_a_cause_fails_the_smoke(line: str) -> None:
    assert fault_in(f"{START}{line}\n") == f"{line}\n"


@pytest.mark.parametrize(
    "log", ["", START, '{"message": "request", "status": 200}\n', "internally redirected\n"]
)
def test_a_server_that_only_starts_is_well(log: str) -> None:
    assert fault_in(log) == ""
