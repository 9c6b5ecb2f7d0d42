"""The argument parser. It takes options, their help and their defaults from the request models."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.answers.request_docs import FieldDescription, described_fields, described_groups
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.request_model import RequestModel, fields_of

_LOCAL_MODEL = "a folder or file on this machine (./model, model.gguf)"


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InvalidRequest instead of exiting, so that `--json` can answer
    with an error object."""

    def error(self, message: str) -> NoReturn:
        raise InvalidRequest(field="command line", value="", reason=message)


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of `python -m gpusizer`, with the subparser of every command.

    When `argv` begins with a command, only that subparser is built: each has dozens of options.
    """
    parser = _Parser(prog="gpusizer", description="Which GPUs run a Hugging Face model, and why.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    names = [name for name in argv[:1] if name in _COMMANDS]
    for name in names or _COMMANDS:
        meaning, add_arguments = _COMMANDS[name]
        command = commands.add_parser(
            name,
            help=meaning,
            description=f"{meaning[0].upper()}{meaning[1:]}.",
        )
        add_arguments(command)
        command.add_argument("--json", action="store_true", help="one JSON document on stdout")
        command.add_argument(
            "--offline", action="store_true", help="embedded snapshot and cache only"
        )
    return parser


def request_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the command's request that the command line sets, unchecked."""
    values = vars(arguments)
    names = fields_of(values["request"])
    return {name: values[name] for name in names if values.get(name) is not None}


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


def _add_model(command: argparse.ArgumentParser, request: type[RequestModel]) -> None:
    meaning = described_fields(request)["model"].meaning
    command.add_argument("model", help=f"{meaning}; here also {_LOCAL_MODEL}")


def _size(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer size MODEL [options]"
    _add_model(command, SizeRequest)
    _add_options(command, SizeRequest, without=("model",))
    command.add_argument(
        "--no-card",
        dest="card",
        action="store_const",
        const="false",
        help="leave the model card unread",
    )


def _train(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer train MODEL [options]"
    _add_model(command, TrainingRequest)
    _add_options(command, TrainingRequest, without=("model",))


def _batch(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer batch [FILE]"
    command.add_argument("file", nargs="?", default="-", help='input file, "-" for standard input')


def _gpus(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer gpus [QUERY ...] [options]"
    query = described_fields(ListingRequest)["query"]
    command.add_argument("query", nargs="*", help=query.meaning)
    _add_options(command, ListingRequest, without=("query",))


def _compare(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer compare GPU [GPU ...] [options]"
    gpus = described_fields(CompareRequest)["gpus"]
    command.add_argument("gpus", nargs="+", metavar="GPU", help=gpus.meaning)
    _add_options(command, CompareRequest, without=("gpus",))


def _models_for(command: argparse.ArgumentParser) -> None:
    command.usage = "gpusizer models-for GPU [options]"
    gpu = described_fields(ModelsRequest)["gpu"]
    command.add_argument("gpu", nargs="*", metavar="GPU", help=gpu.meaning)
    _add_options(command, ModelsRequest, without=("gpu",))
    command.add_argument("--licence", dest="license", help=argparse.SUPPRESS)
    command.add_argument(
        "--copies",
        action="store_true",
        help="also list the other repositories of each family, in the table; JSON always has them",
    )


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


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "size": ("memory at every quantization, and ranked GPUs", _size),
    "train": ("memory, time and price of fine-tuning", _train),
    "batch": ("JSON Lines of requests in, of reports out", _batch),
    "gpus": ("the GPU catalogue", _gpus),
    "compare": ("GPUs side by side", _compare),
    "models-for": ("which models fit a GPU or a machine", _models_for),
    "log": ("an engine's start-up log, measured against predictions", _log),
    "check": ("a speed of this machine, measured against predictions", _check),
}
