"""The command `log` compares what an engine measured at start-up with the predictions."""

from __future__ import annotations

import argparse
import sys

from gpusizer.answers.logs.contribution import shown_amount
from gpusizer.answers.logs.lines import MAX_CHARS
from gpusizer.answers.logs.log_checks import LogCheck, check
from gpusizer.answers.logs.parsed import LogReading, ParsedLog
from gpusizer.answers.sizer import Sizer
from gpusizer.cli.output import print_json, print_text, table
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.printable import printable
from gpusizer.text import say_note

_MEASURED_HEAD = ("measured", "of", "amount", "line")


def run_log(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `log FILE`: read the log, compare it and print the result."""
    text = _read(arguments.file)
    checked = check(sizer, text, arguments.model or "", gpu=arguments.gpu or "")
    if arguments.json:
        print_json(checked.to_json(say_note))
    else:
        print_text(check_text(checked))


def _read(path: str) -> str:
    """Read one character more than is parsed, so that the parser can tell that a log was cut."""
    if path == "-":
        return sys.stdin.buffer.read(MAX_CHARS + 1).decode("utf-8", errors="replace")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CHARS + 1)
    except OSError as error:
        raise InvalidRequest(field="file", value=path, reason=str(error.strerror)) from error


def check_text(checked: LogCheck) -> str:
    """Return the log's settings, the comparison, and the text of an issue to contribute it with."""
    log = checked.log
    named = " ".join(filter(None, (log.engine, log.text("engine_version"), checked.model)))
    parts = [printable(named), printable(_settings(log))]
    if checked.comparison is None:
        parts.append(table(_MEASURED_HEAD, [_measured_cells(r) for r in log.measured]))
    else:
        compared = [
            (
                row.name,
                shown_amount(row.name, row.measured),
                shown_amount(row.name, row.predicted),
                f"{row.error:+.1%}",
                ",".join(map(str, row.lines)),
            )
            for row in checked.comparison.rows
        ]
        parts.append(table(("amount", "measured", "predicted", "error", "line"), compared))
    parts += [f"! {say_note(note)}" for note in checked.notes]
    if checked.issue is not None:
        parts += ["To contribute this run, open an issue with:", printable(checked.issue.title)]
        parts.append(checked.issue.body)
    return "\n\n".join(part for part in parts if part)


def _settings(log: ParsedLog) -> str:
    return ", ".join(f"{reading.name}={reading.value}" for reading in log.settings)


def _measured_cells(reading: LogReading) -> tuple[str, ...]:
    value = reading.value
    amount = shown_amount(reading.name, value) if isinstance(value, int | float) else value
    return (reading.name, reading.device, amount, ",".join(map(str, reading.lines)))
