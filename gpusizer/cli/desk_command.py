"""The command `desk`: several models on one machine, and its files written where asked for."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusizer.api.desk import desk_answer
from gpusizer.cli.arguments import request_fields
from gpusizer.cli.desk_summary import desk_summary
from gpusizer.cli.details import details_text
from gpusizer.cli.here_command import with_this_machine
from gpusizer.cli.output import print_json, print_text, write_file
from gpusizer.text import say_note
from gpusizer.usecases.desk import desk
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.sizer import Sizer


def run_desk(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `desk`: print the answer, and write the files that the command line names."""
    fields = with_this_machine(request_fields(arguments), sizer.catalogue)
    found = desk(sizer, DeskRequest.from_fields(fields))
    for name, text in (
        (arguments.compose, found.files.compose),
        (arguments.llama_swap, found.files.llama_swap),
    ):
        if name:
            write_file(Path(name), text)
    if not (arguments.json or arguments.details):
        print_text(desk_summary(found))
        return
    document = desk_answer(found, say_note).document()
    if arguments.json:
        print_json(document)
    else:
        print_text(details_text(document))
