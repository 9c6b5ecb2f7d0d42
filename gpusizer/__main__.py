"""The program `gpusizer`. Modules of a command are imported once it is used."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpusizer.cli import Roots, part, run
from gpusizer.core.printable import log_printably, print_everywhere
from gpusizer.core.proxies import without_proxies
from gpusizer.core.settings import Settings, serving_port

EXIT_INTERRUPTED = 130
_OWN = "here"  # command that reads only this machine
_READING = ("batch", "log", "check")  # commands whose input may name a checkpoint of this machine


def main(argv: Sequence[str]) -> int:
    """Answer one command line and return the exit code of `gpusizer.cli.run`."""
    log_printably()
    print_everywhere()
    code = run(argv, Roots(_make_sizer, _serve))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has seen enough; Python would try to flush again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def command() -> int:
    """Answer this process' command line: the program `gpusizer` of an installed package."""
    try:
        return main(sys.argv[1:])
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _serve(host: str | None, port: int | None) -> None:
    # Until SIGTERM or SIGINT. Raises InvalidRequest for an impossible setting.
    # A container ends its first process with SIGTERM, which the kernel keeps from one without a
    # handler; a shell starts background processes with SIGINT ignored.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    try:
        # Gradio reads the variables of the port when it is imported, and fails for words.
        port = port or serving_port(os.environ)
        with without_proxies():
            server = part("composition.server")
        server.serve(host, port)
    except KeyboardInterrupt:
        return  # while it started, or again while it drained


def _make_sizer(arguments: argparse.Namespace) -> Any:
    # Raises InvalidRequest for a setting that cannot be used.
    settings = Settings.from_environment(os.environ)
    if arguments.offline:
        settings = replace(settings, offline=True)
    composition = "shell" if _reads(arguments, settings) else "stored"
    return part(f"composition.{composition}").make_sizer(settings, arguments.token)


def _reads(arguments: argparse.Namespace, settings: Settings) -> bool:
    # Modules that read the Hub or this machine's disk take more processor time to import than an
    # answer from stored models.
    if arguments.command == _OWN:
        return False
    if not settings.offline or settings.cache_url or arguments.command in _READING:
        return True
    values = vars(arguments).values()
    stated = [item for value in values for item in (value if isinstance(value, list) else [value])]
    texts = [text for text in stated if isinstance(text, str)]
    names = [name.strip() for text in texts for name in (text, *text.split(","))]
    return any(os.path.exists(os.path.expanduser(name)) for name in names)


if __name__ == "__main__":
    sys.exit(command())
