"""The command `batch` reads JSON Lines of requests and prints JSON Lines of answers."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any, TextIO

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import Document
from gpusizer.api.errors import error_document
from gpusizer.cli.output import print_json
from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.text import say_error, say_note
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES

_MAX_LINE_CHARS = 1_000_000
_log = logging.getLogger(__name__)


def run_batch(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `batch`: print one answer per line, in order; a failing line does not stop the others."""
    source: Any = nullcontext(sys.stdin)
    if arguments.file != "-":
        source = _open(arguments.file)
    with source as lines:
        for answer in answers(sizer, lines):
            print_json(answer)


def _open(path: str) -> TextIO:
    try:
        return open(path, encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(field="file", value=path, reason=str(error.strerror)) from error


def answers(sizer: Sizer, lines: Iterable[str]) -> Iterator[Document]:
    """Yield one JSON answer for each non-empty line of requests."""
    for line in lines:
        if line.strip():
            yield answer_line(sizer, line)


def answer_line(sizer: Sizer, line: str) -> Document:
    """Return the answer to one request in JSON, or an error object."""
    model: str | None = None
    try:
        fields = _request_object(line)
        model_field = fields.get("model")
        model = model_field if isinstance(model_field, str) else None
        task = fields.pop("task", "size")
        if not isinstance(task, str) or task not in _TASKS:
            raise InvalidRequest(
                field="task", value=str(task)[:40], reason="not_one_of", choices=", ".join(_TASKS)
            )
        record = USE_CASES[task].ask(sizer, fields)
        return ANSWERS[task].from_record(record, say_note).document()
    except GpusizerError as error:
        return error_document(error, say_error(error), model)
    except Exception:  # a bug on one line must not lose the answers to the others
        _log.exception("batch line failed")
        internal = GpusizerError()
        return error_document(internal, say_error(internal), model)


def _request_object(line: str) -> Document:
    if len(line) > _MAX_LINE_CHARS:
        raise InvalidRequest(field="line", value=line[:40], reason="too_long")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(field="line", value=line[:40], reason="not_json") from error
    if not isinstance(fields, dict):
        raise InvalidRequest(field="line", value=line[:40], reason="not_an_object")
    return fields


_TASKS = tuple(name for name in USE_CASES if name != "gpus")
