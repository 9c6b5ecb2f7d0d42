"""The program `gpusizer`. What a command needs is loaded when one is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from gpusizer.cli import Roots, run
from gpusizer.core.printable import log_printably


def main(argv: Sequence[str]) -> int:
    """Answer one command line; the exit code is that of `gpusizer.cli.run`."""
    log_printably()
    code = run(
        argv,
        Roots(
            lambda offline, token: _root("shell").make_sizer(offline, token),
            lambda address: _root("hub_readers").read_metrics(address),
            lambda host, port: _root("server").serve(host, port),
        ),
    )
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would try to flush again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def command() -> int:
    """Answer the command line of this process: the program `gpusizer` of an installed package."""
    return main(sys.argv[1:])


def _root(name: str) -> ModuleType:
    return import_module(f"gpusizer.composition.{name}")


if __name__ == "__main__":
    sys.exit(command())
