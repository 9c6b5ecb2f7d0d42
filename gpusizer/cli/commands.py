"""The commands that answer a request: each prints one answer, as JSON or as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gpusizer.answers.sizer import Sizer
from gpusizer.answers.use_cases import USE_CASES
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.output import print_json, print_text
from gpusizer.text import say_note


def run_request(
    sizer: Sizer,
    arguments: argparse.Namespace,
    write: Callable[..., str],
    brief: Callable[..., str],
) -> None:
    """Ask the use case of the command with what the command line states.

    `brief` makes text of its answer, `write` the whole of it; those of `models-for` take `copies`,
    too, which are a part of the details.
    """
    answer = USE_CASES[arguments.command].ask(sizer, request_fields(arguments))
    options = {"copies": arguments.copies} if "copies" in arguments else {}
    if arguments.json:
        print_json(answer.to_json(say_note))
    else:
        details = getattr(arguments, "details", False) or options.get("copies", False)
        print_text((write if details else brief)(answer, **options))
