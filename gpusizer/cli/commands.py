"""Commands that answer a request: each prints one answer, as JSON or as text.

With `--check` the exit code states whether the requirements hold.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import Any

from gpusizer.advice.conclusion.clauses import told
from gpusizer.cli import part
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.here_command import with_this_machine
from gpusizer.cli.output import print_text
from gpusizer.cli.summary import SUMMARIES
from gpusizer.core.errors import EXIT_ANSWER_IS_NO
from gpusizer.core.printable import printable
from gpusizer.text import say_note
from gpusizer.usecases.misses import find_misses
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES


def run_request(sizer: Sizer, arguments: argparse.Namespace) -> int:
    """Answer the command line with the command's use case and return the exit code."""
    fields = with_this_machine(request_fields(arguments), sizer.catalogue)
    answer: Any = USE_CASES[arguments.command].ask(sizer, fields)
    misses = find_misses(answer) if getattr(arguments, "check", False) else ()
    with suppress(
        BrokenPipeError
    ):  # a reader that closed the pipe, as `head` does, still gets the code
        _print(answer, arguments)
    if not misses:
        return 0
    print(printable(f"gpusizer: check failed: {told(misses, say_note)}"), file=sys.stderr)
    return EXIT_ANSWER_IS_NO


def _print(answer: Any, arguments: argparse.Namespace) -> None:
    # Documents import models that a summary does not need.
    if any(getattr(arguments, name, False) for name in ("json", "details", "copies")):
        part("cli.documents").print_document(answer, arguments)
    else:
        print_text(SUMMARIES[arguments.command](answer))
