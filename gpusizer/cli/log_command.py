"""`log FILE`: what an engine measured at start-up next to what gpusizer predicts."""

from __future__ import annotations

import argparse
import json
import sys

from gpusizer.cli.tables import table
from gpusizer.errors import InvalidRequest
from gpusizer.logs.check import LogCheck, check
from gpusizer.logs.contribution import shown_amount
from gpusizer.logs.lines import MAX_CHARS
from gpusizer.logs.parsed import ParsedLog, Reading
from gpusizer.sizer import Sizer
from gpusizer.text import say_note

_MEASURED_HEAD = ("measured", "of", "amount", "line")


def run_log(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Read the log, compare and print."""
    text = _read(arguments.file)
    checked = check(sizer, text, arguments.model or "", gpu=arguments.gpu or "")
    if arguments.json:
        document = checked.to_json(say_note)
        print(json.dumps(document, ensure_ascii=False, allow_nan=False), flush=True)
    else:
        print(check_text(checked))


def _read(path: str) -> str:
    """As much of the file as is looked at, and one character more to know that there is more."""
    if path == "-":
        return sys.stdin.buffer.read(MAX_CHARS + 1).decode("utf-8", errors="replace")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CHARS + 1)
    except OSError as error:
        raise InvalidRequest(field="file", value=path, reason=str(error.strerror)) from error


def check_text(checked: LogCheck) -> str:
    """What the log says, what was predicted, and the issue to contribute it with."""
    log = checked.log
    named = " ".join(filter(None, (log.engine, log.text("engine_version"), checked.model)))
    parts = [named, _settings(log)]
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
        parts += ["To contribute this run, open an issue with:", checked.issue.title]
        parts.append(checked.issue.body)
    return "\n\n".join(part for part in parts if part)


def _settings(log: ParsedLog) -> str:
    return ", ".join(f"{reading.name}={reading.value}" for reading in log.settings)


def _measured_cells(reading: Reading) -> tuple[str, ...]:
    value = reading.value
    amount = shown_amount(reading.name, value) if isinstance(value, int | float) else value
    return (reading.name, reading.device, amount, ",".join(map(str, reading.lines)))
