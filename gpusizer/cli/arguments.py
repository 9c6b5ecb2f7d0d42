"""The argument parser. It takes options, their help and their defaults from the request models."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.answers.requests.request_docs import (
    FieldDescription,
    described_fields,
    described_groups,
)
from gpusizer.answers.requests.training_request import TrainingRequest
from gpusizer.cli.command_list import COMMANDS, program_parser
from gpusizer.core.request_model import RequestModel, fields_of

_RUN = ("quant", "max_loss", "context", "concurrency", "kv_dtype", "engine", "ram_gb", "used_gb")

USUAL: Mapping[str, tuple[str, ...]] = {
    "size": (
        *("gpu", "gpu_count", "top", "rank_by", "min_tok_s", *_RUN),
        *("requests_per_second", "prompt_tokens", "answer_tokens", "ttft_ms", "max_usd"),
    ),
    "train": (
        *("gpu", "gpu_count", "top", "rank_by", "dataset_tokens", "epochs", "method"),
        *("sequence_length", "micro_batch", "optimizer", "precision", "framework", "lora_rank"),
        *("gradient_checkpointing", "sharding", "offload"),
    ),
    "compare": ("model", *_RUN, "usable_gb", "gpu_usd", "gpu_usd_per_hour", "usd_per_kwh"),
    "models-for": ("model_task", "license", "live", "from_disk", "rig", "top", "copies", *_RUN),
}
"""By the command, fields of its request: the options that `--help` tells of, what most people ask
with. `--help-all` tells of all."""

_LOCAL_MODEL = "a folder or file on this machine (./model, model.gguf)"

_TOKEN_HELP = (
    "your own of the Hub, for models that you have access to (default HF_TOKEN, else the login of"
    " `hf auth login`)"
)


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of `python -m gpusizer`, with the subparser of every command.

    When `argv` begins with a command, only that subparser is built: each has dozens of options.
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
        if name == "serve":
            _serve(command)
            continue
        _OPTIONS[name](command)
        if name in USUAL:
            _add_help(command, USUAL[name], everything="--help-all" in argv)
        command.add_argument("--json", action="store_true", help="one JSON document on stdout")
        command.add_argument(
            "--offline", action="store_true", help="embedded snapshot and cache only"
        )
        command.add_argument(
            "--token",
            metavar="HF_TOKEN",
            help=_TOKEN_HELP if name not in USUAL or "--help-all" in argv else argparse.SUPPRESS,
        )
    return parser


def request_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the command's request that the command line sets, unchecked.

    The words of a query or of one GPU's name need no quotes.
    """
    values = vars(arguments)
    stated = {name: values.get(name) for name in fields_of(values["request"])}
    for name in ("query", "gpu"):
        if isinstance(stated.get(name), list):
            stated[name] = " ".join(values[name])
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
    """Add options for the fields of a request, in argument groups, except those in `without`."""
    command.set_defaults(request=request)
    for heading, fields in described_groups(request).items():
        fields_with_option = [field for field in fields if field.name not in without]
        group = command.add_argument_group(heading)
        for field in fields_with_option:
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                metavar=field.unit,
                help=option_help(field).replace("%", "%%"),
            )


def _add_help(
    command: argparse.ArgumentParser, usual: Collection[str], *, everything: bool
) -> None:
    """Add `--details` and `--help-all`; without the latter, help tells of the usual options."""
    command.add_argument("--details", action="store_true", help="every table and figure")
    command.add_argument("--help-all", action="help", help="this help with every option")
    if everything:
        return
    for action in command._actions:
        names = {name.removeprefix("--").replace("-", "_") for name in action.option_strings}
        if names and not names & {*usual, "h", "help", "help_all", "details"}:
            action.help = argparse.SUPPRESS


def _request(
    usage: str, request: type[RequestModel], positional: str, **shape: Any
) -> Callable[[argparse.ArgumentParser], None]:
    """What adds the arguments of a command that answers a request."""

    def add(command: argparse.ArgumentParser) -> None:
        command.usage = f"gpusizer {usage} [options]"
        meaning = described_fields(request)[positional].meaning
        local = f"; here also {_LOCAL_MODEL}" if positional == "model" else ""
        command.add_argument(positional, help=f"{meaning}{local}", **shape)
        _add_options(command, request, without=(positional,))

    return add


def _size(command: argparse.ArgumentParser) -> None:
    _request("size MODEL", SizeRequest, "model")(command)
    command.add_argument(
        "--no-card",
        dest="card",
        action="store_const",
        const="false",
        help="leave the model card unread",
    )


def _models_for(command: argparse.ArgumentParser) -> None:
    _request("models-for GPU", ModelsRequest, "gpu", nargs="*", metavar="GPU")(command)
    command.add_argument("--licence", dest="license", help=argparse.SUPPRESS)
    command.add_argument(
        "--copies",
        action="store_true",
        help="also list the other repositories of each family, in the table; JSON always has them",
    )


def _batch(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer batch [FILE]"
    command.add_argument("file", nargs="?", default="-", help='input file, "-" for standard input')


def _log(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help='the log, "-" for standard input')
    command.add_argument("--model", help="model ID, where the log has a local path")
    command.add_argument("--gpu", help="the GPU, where the log does not name it")


def _check(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer check MODEL [options]"
    command.add_argument("model", nargs="?", help=f"model ID, or {_LOCAL_MODEL}")
    command.add_argument("--gpu", help="the GPU, with a count or not; llama-bench names its own")
    command.add_argument("--quant", help="what the weights are, where the program does not say")
    llama = command.add_argument_group("llama.cpp: runs llama-bench")
    llama.add_argument("--llama-bench", metavar="PROGRAM", help="where it is (default: on PATH)")
    llama.add_argument("--weights", metavar="FILE", help="the GGUF file that runs")
    llama.add_argument("--prompt", default="512", metavar="TOKENS", help="default 512; 0: none")
    llama.add_argument("--generate", default="128", metavar="TOKENS", help="default 128; 0: none")
    llama.add_argument("--depth", default="0", metavar="TOKENS", help="tokens before (default 0)")
    llama.add_argument("--timeout", default="1800", metavar="SECONDS", help="default 1800")
    vllm = command.add_argument_group("vLLM: reads the metrics of a running server twice")
    vllm.add_argument("--vllm", metavar="ADDRESS", help="such as http://127.0.0.1:8000")
    vllm.add_argument("--seconds", default="10", help="between the readings (default 10)")
    vllm.add_argument("--engine-version", metavar="VERSION", help="of the server, such as 0.11")


def _serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("--host", help="default GRADIO_SERVER_NAME, else 127.0.0.1")
    command.add_argument("--port", help="default GRADIO_SERVER_PORT, else the first free from 7860")


_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "size": _size,
    "train": _request("train MODEL", TrainingRequest, "model"),
    "batch": _batch,
    "gpus": _request("gpus [QUERY ...]", ListingRequest, "query", nargs="*"),
    "compare": _request("compare GPU [GPU ...]", CompareRequest, "gpus", nargs="+", metavar="GPU"),
    "models-for": _models_for,
    "log": _log,
    "check": _check,
}
