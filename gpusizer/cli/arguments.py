"""Argument parser. Options, help and defaults come from the request models."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gpusizer.cli.command_list import COMMANDS, program_parser
from gpusizer.core.request_model import RequestModel, fields_of
from gpusizer.core.tables import toml_of
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.usecases.requests.request_docs import (
    FieldDescription,
    described_fields,
    described_groups,
)
from gpusizer.usecases.requests.training_request import TrainingRequest

_TABLES = toml_of(__file__)

# Fields and options by command that `--help` lists: those that most people use. `--help-all` lists
# all.
USUAL: Mapping[str, Sequence[str]] = _TABLES["usual"]


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of `python -m gpusizer`, with the subparser of every command.

    If `argv` begins with a command, only that subparser is built: each has dozens of options.
    """
    parser = program_parser()
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    names = [name for name in argv[:1] if name in COMMANDS]
    for name in names or COMMANDS:
        meaning = COMMANDS[name].meaning
        command = commands.add_parser(
            name,
            help=meaning,
            description=f"{meaning[0].upper()}{meaning[1:]}.",
        )
        if name in _REQUESTS:
            _REQUESTS[name](command)
        _add_own(command, name)
        if name == "serve":
            continue
        if name in USUAL:
            _add_help(command, USUAL[name], everything="--help-all" in argv)
        command.add_argument("--json", action="store_true", help="one JSON document on stdout")
        command.add_argument(
            "--offline", action="store_true", help="embedded snapshot and cache only"
        )
        command.add_argument(
            "--token",
            metavar="HF_TOKEN",
            help=_TABLES["token"]
            if name not in USUAL or "--help-all" in argv
            else argparse.SUPPRESS,
        )
    return parser


def request_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the command's request that the command line sets, unchecked.

    The words of a query or of one GPU's name need no quotes. A list may be stated in one option or
    in several.
    """
    values = vars(arguments)
    stated = {name: values.get(name) for name in fields_of(values["request"])}
    for name, value in stated.items():
        if isinstance(value, list) and name in values["words"]:
            stated[name] = " ".join(value)
        elif isinstance(value, list) and name in values["lists"]:
            stated[name] = value[0] if len(value) == 1 else ", ".join(value)
    return {name: value for name, value in stated.items() if value is not None}


def option_help(field: FieldDescription) -> str:
    """Return the help of one option: its meaning, then choices, bounds and default in brackets.

    >>> option_help(described_fields(SizeRequest)["draft_tokens"])
    "tokens guessed ahead, by the model's own draft layers or by draft_model (0 to 64; default 0)"
    """
    choices = "" if field.unit == "|".join(field.choices) else field.choices_text
    default = f"default {field.default_text}" if field.default_text else ""
    details = "; ".join(filter(None, (choices, field.bounds_text, default)))
    return f"{field.meaning} ({details})" if details else field.meaning


def _add_options(
    command: argparse.ArgumentParser, request: type[RequestModel], without: Collection[str] = ()
) -> None:
    lists = [field.name for field in described_fields(request).values() if field.kind is tuple]
    words = {"query", "gpu"} & {*without}
    command.set_defaults(request=request, lists=set(lists) - {*without}, words=words)
    for heading, fields in described_groups(request).items():
        fields_with_option = [field for field in fields if field.name not in without]
        group = command.add_argument_group(heading)
        for field in fields_with_option:
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                metavar=field.unit,
                help=option_help(field).replace("%", "%%"),
                action="append" if field.kind is tuple else "store",
            )


def _add_help(
    command: argparse.ArgumentParser, usual: Collection[str], *, everything: bool
) -> None:
    # Without `--help-all`, help lists the usual options and, last, itself.
    command.add_argument("--details", action="store_true", help="every table and figure")
    command.add_argument("--help-all", action="help", help="this help with every option")
    if everything:
        return
    command.epilog = _TABLES["more"]
    for action in command._actions:
        names = {name.removeprefix("--").replace("-", "_") for name in action.option_strings}
        if names and not names & {*usual, "h", "help", "help_all", "details"}:
            action.help = argparse.SUPPRESS


def _request(
    usage: str, request: type[RequestModel], positional: str, **shape: Any
) -> Callable[[argparse.ArgumentParser], None]:
    # Returns the function that adds the arguments of a command for a request.
    def add(command: argparse.ArgumentParser) -> None:
        command.usage = f"gpusizer {usage} [options]"
        meaning = described_fields(request)[positional].meaning
        local = f"; here also {_TABLES['local_model']}" if positional == "model" else ""
        command.add_argument(positional, help=f"{meaning}{local}", **shape)
        _add_options(command, request, without=(positional,))

    return add


_REQUESTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "size": _request("size MODEL", SizeRequest, "model"),
    "train": _request("train MODEL", TrainingRequest, "model"),
    "lock": _request("lock MODEL --gpu GPU", SizeRequest, "model"),
    "gpus": _request("gpus [QUERY ...]", ListingRequest, "query", nargs="*"),
    "compare": _request("compare GPU [GPU ...]", CompareRequest, "gpus", nargs="+", metavar="GPU"),
    "desk": _request(
        'desk "MODEL users=2 role=chat" ["MODEL ..." ...]',
        DeskRequest,
        "models",
        nargs="+",
        metavar="MODEL",
    ),
    "models-for": _request("models-for GPU", ModelsRequest, "gpu", nargs="*", metavar="GPU"),
}


def _add_own(command: argparse.ArgumentParser, name: str) -> None:
    # Options outside of any request, as the table groups them; a group named "" has no title.
    command.usage = _TABLES["usage"].get(name, command.usage)
    for title, options in _TABLES["options"].get(name, {}).items():
        group = command.add_argument_group(title) if title else command
        for option, shape in options.items():
            group.add_argument(option, **{"help": argparse.SUPPRESS, **shape})
