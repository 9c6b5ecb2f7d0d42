"""The commands that answer a request: each prints one answer, as JSON or as text."""

from __future__ import annotations

import argparse

from gpusizer.answers.sizer import Sizer
from gpusizer.answers.use_cases import USE_CASES
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.details import details_text
from gpusizer.cli.output import print_json, print_text
from gpusizer.cli.summary import SUMMARIES
from gpusizer.text import say_note


def run_request(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Ask the use case of the command with what the command line states.

    `copies` of models are a part of the details.
    """
    answer = USE_CASES[arguments.command].ask(sizer, request_fields(arguments))
    copies = getattr(arguments, "copies", False)
    if arguments.json:
        print_json(answer.to_json(say_note))
    elif copies or getattr(arguments, "details", False):
        print_text(details_text(answer.to_json(say_note), copies=copies))
    else:
        print_text(SUMMARIES[arguments.command](answer))
