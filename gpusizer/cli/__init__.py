"""The command line: `gpusizer`, or `python -m gpusizer`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpusizer.cli.command_list import COMMANDS, listing_parser
from gpusizer.core.errors import GpusizerError, InvalidRequest

if TYPE_CHECKING:
    from gpusizer.usecases.sizer import Sizer

_log = logging.getLogger(__name__)
_PORTS = range(1, 65_536)


@dataclass(frozen=True, slots=True)
class Roots:
    """Functions that the composition supplies."""

    make_sizer: Callable[[argparse.Namespace], Sizer]  # builds the Sizer that a command line needs
    # serves the page at a host and port, by default the usual ones, until interrupted
    serve: Callable[[str | None, int | None], None]


def run(argv: Sequence[str], roots: Roots) -> int:
    """Answer one command line and return the exit code.

    It is 0, 2 for bad input, 3 for a model that cannot be read, 1 for a bug, or the command's own:
    4 with `--check` if the answer is no.
    """
    model: str | None = None
    try:
        arguments = _parsed(argv)
        model = getattr(arguments, "model", None)
        if arguments.command == "serve":
            _run_serve(roots.serve, arguments)
            return 0
        entry = COMMANDS[arguments.command]
        command = getattr(part(f"cli.{entry.module}"), entry.function)
        code: int | None = command(roots.make_sizer(arguments), arguments)
    except GpusizerError as error:
        return _fail(error, argv, model)
    except BrokenPipeError:
        return 0  # the program that reads our pipe closed it, as `head` does
    except Exception:
        _log.exception("unexpected failure")
        return _fail(GpusizerError(), argv, model)
    return code or 0


def _run_serve(
    serve: Callable[[str | None, int | None], None], arguments: argparse.Namespace
) -> None:
    # Raises InvalidRequest for an invalid port, and without the extra `web`.
    port = None if arguments.port is None else _port(arguments.port)
    try:
        serve(arguments.host, port)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gpusizer"):
            raise
        raise InvalidRequest(field="serve", value=error.name or "", reason="needs_web") from None


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:6]) not in _PORTS:
        raise InvalidRequest(field="port", value=text[:40], reason="count", most=_PORTS[-1])
    return int(text)


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    # Without a command the parser knows the names of the commands alone.
    if argv and argv[0] in COMMANDS:
        arguments: argparse.Namespace = part("cli.arguments").build_parser(argv).parse_args(argv)
        return arguments
    return listing_parser().parse_args(argv)


def _fail(error: GpusizerError, argv: Sequence[str], model: str | None) -> int:
    code: int = part("cli.output").tell_failure(error, argv, model)
    return code


def part(name: str) -> Any:
    """Import the module of `gpusizer` with that name, so that each command loads only its own."""
    return import_module(f"gpusizer.{name}")
