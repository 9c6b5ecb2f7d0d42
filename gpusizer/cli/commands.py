"""What each command does: fields in, one JSON-ready answer and its text out."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from importlib import import_module
from typing import Any, TextIO

from gpusizer.cli.arguments import request_fields, training_fields
from gpusizer.errors import GpusizerError, InvalidRequest
from gpusizer.listing import gpus_json
from gpusizer.report import error_json
from gpusizer.sizer import Sizer
from gpusizer.text import say_error, say_note

Json = dict[str, Any]
_MAX_LINE_CHARS = 1_000_000
_log = logging.getLogger(__name__)


def _tables(name: str) -> Any:
    """The module of one kind of text, loaded only when there is text to print."""
    return import_module(f"gpusizer.cli.{name}")


def run_size(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`size MODEL`."""
    report = sizer.size(request_fields(arguments))
    if arguments.json:
        print_json(report.to_json(say_note))
    else:
        print(_tables("tables").report_text(report))


def run_train(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`train MODEL`."""
    report = _train(sizer, training_fields(arguments))
    if arguments.json:
        print_json(report.to_json(say_note))
    else:
        print(_tables("training_tables").training_text(report))


def _train(sizer: Sizer, fields: Json) -> Any:
    """A TrainingReport. Its modules are loaded here, as other commands do without them."""
    trainer = import_module("gpusizer.training.trainer")
    return trainer.train(sizer.fetch, sizer.catalogue, fields)


def run_gpus(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`gpus [QUERY]`."""
    found = sizer.gpus({**request_fields(arguments), "query": " ".join(arguments.query)})
    if arguments.json:
        print_json(gpus_json(found, say_note))
    else:
        print(_tables("tables").gpus_text(found))


def run_compare(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`compare GPU GPU …`, with `--model` also how it runs on each."""
    fields = {**request_fields(arguments), "gpus": arguments.gpus}
    comparison = sizer.compare(fields)
    if arguments.json:
        print_json(comparison.to_json(say_note))
    else:
        print(_tables("tables").comparison_text(comparison))


def run_models_for(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`models-for GPU`: the words of the GPU need no quotes."""
    named = {"gpu": " ".join(arguments.gpu), "models": arguments.models}
    fields = {**request_fields(arguments), **named, "model_task": arguments.model_task}
    found = sizer.models_for(fields)
    if arguments.json:
        print_json(found.to_json(say_note))
    else:
        print(_tables("models").models_text(found))


def run_batch(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`batch`: one answer per line, in order; a failing line does not stop the others."""
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


def run_log(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """`log FILE`: loaded when asked for, as no other command needs it."""
    import_module("gpusizer.cli.log_command").run_log(sizer, arguments)


def answers(sizer: Sizer, lines: Iterable[str]) -> Iterator[Json]:
    """One JSON answer for each non-empty line of requests."""
    for line in lines:
        if line.strip():
            yield answer_line(sizer, line)


def answer_line(sizer: Sizer, line: str) -> Json:
    """The answer to one request in JSON, an error object when it cannot be answered."""
    model: str | None = None
    try:
        fields = _request_object(line)
        named = fields.get("model")
        model = named if isinstance(named, str) else None
        task = fields.pop("task", "size")
        if not isinstance(task, str) or task not in _TASKS:
            raise InvalidRequest(
                field="task", value=str(task)[:40], reason="not_one_of", choices=", ".join(_TASKS)
            )
        return _TASKS[task](sizer, fields)
    except GpusizerError as error:
        return error_json(error, say_error(error), model)
    except Exception:  # a bug on one line must not lose the answers to the others
        _log.exception("batch line failed")
        internal = GpusizerError()
        return error_json(internal, say_error(internal), model)


def _request_object(line: str) -> Json:
    if len(line) > _MAX_LINE_CHARS:
        raise InvalidRequest(field="line", value=line[:40], reason="too_long")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(field="line", value=line[:40], reason="not_json") from error
    if not isinstance(fields, dict):
        raise InvalidRequest(field="line", value=line[:40], reason="not_an_object")
    return fields


_TASKS: dict[str, Callable[[Sizer, Json], Json]] = {
    "size": lambda sizer, fields: sizer.size(fields).to_json(say_note),
    "train": lambda sizer, fields: _train(sizer, fields).to_json(say_note),
    "compare": lambda sizer, fields: sizer.compare(fields).to_json(say_note),
    "models-for": lambda sizer, fields: sizer.models_for(fields).to_json(say_note),
}


def print_json(document: Json) -> None:
    """One JSON document on one line of standard output."""
    print(json.dumps(document, ensure_ascii=False, allow_nan=False), flush=True)
