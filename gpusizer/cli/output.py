"""Output of commands: one JSON document, or lines and tables of padded columns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from gpusizer.api.base import AnswerModel
from gpusizer.api.errors import error_document
from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    InvalidRequest,
    ModelNotFound,
    PrivateOrMissing,
)
from gpusizer.core.messages import Translate
from gpusizer.core.printable import encodable, json_text, printable
from gpusizer.core.units import GIB
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.text import say_error, say_note, text

UNKNOWN = "unknown"
_WITHOUT_ACCESS = (ModelNotFound, PrivateOrMissing, GatedModel)

_Row = TypeVar("_Row")
Columns = Mapping[str, Callable[[_Row], str]]  # writer of a row's cell by heading


class _Span(Protocol):
    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def print_answer(
    arguments: argparse.Namespace,
    record: _Row,
    answer: Callable[[_Row, Translate], AnswerModel],
    write: Callable[[_Row], str],
) -> None:
    """Print a result as JSON or as text, as the command line says."""
    if arguments.json:
        print_json(answer(record, say_note).document())
    else:
        print_text(write(record))


def print_json(document: object) -> None:
    """Print one JSON document on one line of standard output."""
    print(encodable(json_text(document), sys.stdout.encoding or "utf-8"), flush=True)


def print_text(text: str) -> None:
    """Print lines for people on standard output."""
    print(printable(text, keep="\n"))


def write_file(path: Path, text: str) -> None:
    """Write a file that the command line names. Raises InvalidRequest."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InvalidRequest(field="output", value=str(path), reason=str(error.strerror)) from error


def lines_text(lines: Iterable[str]) -> str:
    """Join lines, each made printable: a line end inside one is replaced."""
    return "\n".join(map(printable, lines))


def table(columns: Columns[_Row], rows: Iterable[_Row]) -> str:
    """Write rows as a table of these columns."""
    return padded(tuple(columns), [[write(row) for write in columns.values()] for row in rows])


def padded(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows of text below a head, with columns padded to their widest cell."""
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def boards_text(count: int, gpu: Gpu) -> str:
    """Write a number of boards of a GPU."""
    return f"{count} x {gpu.name}"


def verdict_text(verdict: Verdict | None) -> str:
    """Write a verdict in words."""
    return UNKNOWN if verdict is None else text(f"verdict.{verdict.value}", "en")


def gib(amount_bytes: float | None, digits: int = 2, unknown: str = UNKNOWN) -> str:
    """Write bytes as a number of GiB."""
    return unknown if amount_bytes is None else f"{amount_bytes / GIB:.{digits}f}"


def gib_span(band: _Span) -> str:
    """Write the two ends of an amount in GiB."""
    return f"{gib(band.low, 1)}-{gib(band.high, 1)}"


def number(value: float | None, form: str = ",.0f", of: float = 1) -> str:
    """Write `value` in units of `of`, by default as a whole number."""
    return UNKNOWN if value is None else format(value / of, form)


def span(band: _Span | None, form: str = "g") -> str:
    """Write the two ends of a band."""
    return UNKNOWN if band is None else f"{band.low:{form}}-{band.high:{form}}"


def tell_failure(error: GpusizerError, argv: Sequence[str], model: str | None) -> int:
    """Print the failure and return its exit code."""
    message = say_error(error)
    if "--json" in argv or argv[:1] == ["batch"]:
        print_json(error_document(error, message, model))
    print(printable(f"gpusizer: {message}"), file=sys.stderr)
    if isinstance(error, _WITHOUT_ACCESS):
        print(text("error.shell_without_access", "en"), file=sys.stderr)
    return error.exit_code
