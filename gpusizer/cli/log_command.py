"""The command `log`: it compares an engine's measurements at start-up with the predictions."""

from __future__ import annotations

import argparse
import sys

from gpusizer.api.logs import log_answer
from gpusizer.cli.output import Columns, print_answer, table
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.printable import printable
from gpusizer.core.units import GIB
from gpusizer.logs.lines import MAX_CHARS
from gpusizer.logs.log_checks import LogCheck, check
from gpusizer.logs.log_comparison import ComparedAmount
from gpusizer.logs.rules import LogReading
from gpusizer.text import say_note
from gpusizer.usecases.sizer import Sizer

_COUNTS = frozenset({"max_concurrency", "kv_tokens", "kv_blocks"})


def shown_amount(name: str, value: float) -> str:
    """Write an amount: bytes in GiB, small numbers of bytes and counts unchanged."""
    if name in _COUNTS:
        return f"{value:,.2f}" if value % 1 else f"{value:,.0f}"
    return f"{value:,.0f} B" if abs(value) < GIB / 1000 else f"{value / GIB:,.3f} GiB"


def _lines(row: LogReading | ComparedAmount) -> str:
    return ",".join(map(str, row.lines))


def _measured(reading: LogReading) -> str:
    value = reading.value
    return shown_amount(reading.name, value) if isinstance(value, int | float) else value


_MEASURED: Columns[LogReading] = {
    "measured": lambda reading: reading.name,
    "of": lambda reading: reading.device,
    "amount": _measured,
    "line": _lines,
}
_COMPARED: Columns[ComparedAmount] = {
    "amount": lambda row: row.name,
    "measured": lambda row: shown_amount(row.name, row.measured),
    "predicted": lambda row: shown_amount(row.name, row.predicted),
    "error": lambda row: f"{row.error:+.1%}",
    "line": _lines,
}


def run_log(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `log FILE`: read the log, compare it and print the result."""
    text = _read(arguments.file)
    checked = check(sizer, text, arguments.model or "", gpu=arguments.gpu or "")
    print_answer(arguments, checked, log_answer, check_text)


def _read(path: str) -> str:
    # One character more than is parsed, so that the parser can see that a log was cut.
    if path == "-":
        return sys.stdin.buffer.read(MAX_CHARS + 1).decode("utf-8", errors="replace")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CHARS + 1)
    except OSError as error:
        raise InvalidRequest(field="file", value=path, reason=str(error.strerror)) from error


def check_text(checked: LogCheck) -> str:
    """Return the log's settings, the comparison, and the row to contribute it with."""
    log = checked.log
    named = " ".join(filter(None, (log.engine, log.text("engine_version"), checked.model)))
    settings = ", ".join(f"{reading.name}={reading.value}" for reading in log.settings)
    parts = [printable(named), printable(settings)]
    if checked.comparison is None:
        parts.append(table(_MEASURED, log.measured))
    else:
        parts.append(table(_COMPARED, checked.comparison.rows))
    parts += [f"! {say_note(note)}" for note in checked.notes]
    if checked.issue is not None:
        parts += ["To contribute this run, open an issue with:", printable(checked.issue.title)]
        parts.append(checked.issue.body)
    return "\n\n".join(part for part in parts if part)
