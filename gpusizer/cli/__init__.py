"""The shell: `python -m gpusizer`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence

from gpusizer.cli.arguments import build_parser
from gpusizer.cli.commands import (
    print_json,
    run_batch,
    run_compare,
    run_gpus,
    run_log,
    run_models_for,
    run_size,
    run_train,
)
from gpusizer.errors import GpusizerError
from gpusizer.report import error_json
from gpusizer.sizer import Sizer
from gpusizer.text import say_error

MakeSizer = Callable[[bool], Sizer]
"""Builds a Sizer; the argument says whether it must stay offline."""

_COMMANDS: dict[str, Callable[[Sizer, argparse.Namespace], None]] = {
    "size": run_size,
    "train": run_train,
    "batch": run_batch,
    "gpus": run_gpus,
    "compare": run_compare,
    "models-for": run_models_for,
    "log": run_log,
}
_log = logging.getLogger(__name__)


def run(argv: Sequence[str], make_sizer: MakeSizer) -> int:
    """Answer one command line; the exit code is 0, 2 (bad input), 3 (unreadable) or 1 (a bug)."""
    model: str | None = None
    try:
        arguments = build_parser(argv).parse_args(argv)
        model = getattr(arguments, "model", None)
        _COMMANDS[arguments.command](make_sizer(arguments.offline), arguments)
    except GpusizerError as error:
        return _fail(error, argv, model)
    except BrokenPipeError:
        return 0  # the reader of a pipe has seen enough
    except Exception:
        _log.exception("unexpected failure")
        return _fail(GpusizerError(), argv, model)
    return 0


def _fail(error: GpusizerError, argv: Sequence[str], model: str | None) -> int:
    message = say_error(error)
    if "--json" in argv or argv[:1] == ["batch"]:
        print_json(error_json(error, message, model))
    print(f"gpusizer: {message}", file=sys.stderr)
    return error.exit_code
