"""The commands by name, and a parser that knows only their names."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import NoReturn

from gpusizer import __version__
from gpusizer.core.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Meaning of a command in a few words, and the function of `gpusizer.cli` that runs it."""

    meaning: str
    module: str = "commands"
    function: str = "run_request"


COMMANDS = {
    "size": CommandEntry("memory at every quantization, and ranked GPUs"),
    "train": CommandEntry("memory, time and price of fine-tuning"),
    "batch": CommandEntry("JSON Lines of requests in, of reports out", "batch", "run_batch"),
    "gpus": CommandEntry("the GPU catalogue"),
    "compare": CommandEntry("GPUs side by side"),
    "models-for": CommandEntry("which models fit a GPU or a machine"),
    "desk": CommandEntry(
        "several models on one machine, and the files that start them", "desk_command", "run_desk"
    ),
    "log": CommandEntry(
        "an engine's start-up log, measured against predictions", "log_command", "run_log"
    ),
    "check": CommandEntry(
        "a speed of this machine, measured against predictions", "check_command", "run_check"
    ),
    "lock": CommandEntry(
        "write gpusizer.lock: a fit that a build keeps true", "lock_commands", "run_lock"
    ),
    "check-lock": CommandEntry(
        "whether gpusizer.lock still holds, and what changed", "lock_commands", "run_check_lock"
    ),
    "here": CommandEntry("the GPUs and the memory of this machine", "here_command", "run_here"),
    "serve": CommandEntry("the page, its endpoints and MCP, on this machine", "", ""),
}


class RaisingParser(argparse.ArgumentParser):
    """ArgumentParser that raises InvalidRequest instead of exiting.

    `--json` can then answer with an error object.
    """

    def error(self, message: str) -> NoReturn:
        raise InvalidRequest(field="command line", value="", reason=message)


def program_parser() -> RaisingParser:
    """Build the parser of the program without commands."""
    meaning = "Which GPUs run a Hugging Face model, and why."
    parser = RaisingParser(prog="gpusizer", description=meaning)
    parser.add_argument("--version", action="version", version=f"gpusizer {__version__}")
    return parser


def listing_parser() -> RaisingParser:
    """Build a parser of the commands' names, for `--help`, `--version` and a wrong command."""
    parser = program_parser()
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, entry in COMMANDS.items():
        commands.add_parser(name, help=entry.meaning)
    return parser
