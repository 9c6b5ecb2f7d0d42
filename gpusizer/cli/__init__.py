"""The command line: `python -m gpusizer`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from gpusizer.answers.report import error_json
from gpusizer.answers.sizer import Sizer
from gpusizer.cli.arguments import build_parser
from gpusizer.cli.output import print_json
from gpusizer.core.errors import GpusizerError
from gpusizer.core.printable import printable
from gpusizer.text import say_error

MakeSizer = Callable[[bool], Sizer]
"""Builds a Sizer; with True it makes no requests."""
ReadPage = Callable[[str], str]
"""Reads the metrics of a server of the reader's own, for the command `check`."""

# Command -> (module of gpusizer.cli, function).
_COMMANDS = {
    "size": ("commands", "run_size"),
    "train": ("training_tables", "run_train"),
    "batch": ("batch", "run_batch"),
    "gpus": ("commands", "run_gpus"),
    "compare": ("commands", "run_compare"),
    "models-for": ("models", "run_models_for"),
    "log": ("log_command", "run_log"),
    "check": ("check_command", "run_check"),
}
Command = Callable[[Sizer, argparse.Namespace], None]
_log = logging.getLogger(__name__)


def run(argv: Sequence[str], make_sizer: MakeSizer, read_page: ReadPage) -> int:
    """Answer one command line and return the exit code. `arguments.read_page` is `read_page`.

    It is 0, 2 for bad input, 3 for a model that cannot be read, or 1 for a bug.
    """
    model: str | None = None
    try:
        arguments = build_parser(argv).parse_args(argv)
        model = getattr(arguments, "model", None)
        arguments.read_page = read_page
        command = _load(arguments.command)
        command(make_sizer(arguments.offline), arguments)
    except GpusizerError as error:
        return _fail(error, argv, model)
    except BrokenPipeError:
        return 0  # the program that reads our pipe closed it, as `head` does
    except Exception:
        _log.exception("unexpected failure")
        return _fail(GpusizerError(), argv, model)
    return 0


def _load(name: str) -> Command:
    """Import the module of one command and return its function."""
    module, function = _COMMANDS[name]
    command: Command = getattr(import_module(f"gpusizer.cli.{module}"), function)
    return command


def _fail(error: GpusizerError, argv: Sequence[str], model: str | None) -> int:
    message = say_error(error)
    if "--json" in argv or argv[:1] == ["batch"]:
        print_json(error_json(error, message, model))
    print(printable(f"gpusizer: {message}"), file=sys.stderr)
    return error.exit_code
