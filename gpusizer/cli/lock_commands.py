"""The commands `lock` and `check-lock`: a fit that a build keeps true."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from gpusizer.advice.conclusion.clauses import told
from gpusizer.api.shell import lock_check_answer
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.output import gib, print_json, print_text, write_file
from gpusizer.core.errors import EXIT_ANSWER_IS_NO, EXIT_UNREADABLE, InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.printable import json_text, printable
from gpusizer.core.validation import fail
from gpusizer.text import say_note
from gpusizer.usecases.fit_lock import MAX_LOCK_BYTES, FitLock, LockCheck, check_lock, make_lock
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer

_WORDS = {True: "holds", False: "does not hold", None: "cannot be told"}
_COLOURS = {True: "brightgreen", False: "red", None: "lightgrey"}
_EXITS = {True: 0, False: EXIT_ANSWER_IS_NO, None: EXIT_UNREADABLE}


def run_lock(sizer: Sizer, arguments: argparse.Namespace) -> int:
    """Run `lock MODEL`: write the lock, or return 4 if the requirements do not hold."""
    request = SizeRequest.from_fields(request_fields(arguments))
    lock, misses = make_lock(sizer, request, _today())
    if misses:
        print(printable(f"gpusizer: not locked: {told(misses, say_note)}"), file=sys.stderr)
        return EXIT_ANSWER_IS_NO
    path = Path(arguments.output)
    write_file(path, lock.text())
    if arguments.json:
        print_json(lock.model_dump(mode="json"))
        return 0
    place, total = lock.place, lock.memory["total"]
    print_text(
        f"{path}: {lock.model.repo_id} in {place.quant} on {place.boards} x {place.gpu} with "
        f"{place.engine}, {gib(total.low)} to {gib(total.high)} GiB a GPU"
    )
    return 0


def run_check_lock(sizer: Sizer, arguments: argparse.Namespace) -> int:
    """Run `check-lock [FILE]`: print the changes and return 0, 4 for a no, 3 if undecidable."""
    checked = check_lock(sizer, FitLock.from_text(_read(arguments.file)), _today())
    if arguments.badge:
        write_file(Path(arguments.badge), json_text(badge_of(checked)) + "\n")
    if arguments.json:
        print_json(lock_check_answer(checked, say_note).document())
    else:
        print_text(markdown_of(checked) if arguments.markdown else text_of(checked))
    return _EXITS[checked.holds]


def text_of(checked: LockCheck) -> str:
    """Write the verdict, its reasons and the changes, a line each."""
    reasons = [*checked.doubts, *checked.misses]
    lines = [_headline(checked), *map(say_note, reasons), *map(say_note, checked.changes)]
    return "\n".join(map(printable, lines))


def markdown_of(checked: LockCheck) -> str:
    """Write verdict, reasons and changes for a comment on a pull request.

    Names are formatted as code, so that none is markup.
    """
    found = [*checked.doubts, *checked.misses, *checked.changes]
    return "\n".join([f"**{_headline(checked)}**", "", *(f"- {_as_code(note)}" for note in found)])


def badge_of(checked: LockCheck) -> dict[str, object]:
    """Return an endpoint badge of shields.io with the date of the last check."""
    place = checked.lock.place
    return {
        "schemaVersion": 1,
        "label": f"{place.boards} × {place.gpu}",
        "message": f"{_WORDS[checked.holds]} · {checked.now.made}",
        "color": _COLOURS[checked.holds],
        "isError": False,
    }


def _headline(checked: LockCheck) -> str:
    lock, place = checked.lock, checked.lock.place
    return (
        f"{lock.model.repo_id} on {place.boards} x {place.gpu}, locked {lock.made}: "
        f"{_WORDS[checked.holds]}"
    )


def _as_code(note: Note) -> str:
    return "`" + printable(say_note(note)).replace("`", "'") + "`"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _read(name: str) -> str:
    # "-" reads standard input. Raises InvalidRequest.
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_LOCK_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_LOCK_BYTES + 1)
        if len(content) > MAX_LOCK_BYTES:
            raise fail("lock", name, "no_lock")
        return content.decode("utf-8")
    except OSError as error:
        raise InvalidRequest(field="file", value=name, reason=str(error.strerror)) from error
    except UnicodeDecodeError:
        raise fail("lock", name, "no_lock") from None
