"""The command line's grammar. Option names and meanings come from one table."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from gpusizer.costs import DEFAULT_ASSUMPTIONS as _COSTS
from gpusizer.errors import InvalidRequest
from gpusizer.request import FILTER_FIELDS, RANKINGS, SIZE_FIELDS
from gpusizer.workload import OFFLOADS

_HELP: dict[str, tuple[str, str]] = {
    "revision": ("REV", "branch, tag or commit"),
    "file": ("PATH", "one file of the repository"),
    "quant": ("SLUGS", 'quantizations, comma-separated; "native" or "all" (default)'),
    "gpu": ("NAMES", "look at these GPUs, comma-separated, instead of ranking all"),
    "gpu_count": ("N", "boards of each GPU; default: the smallest number that fits"),
    "rank_by": ("POLICY", f"order of the ranking: {', '.join(RANKINGS)}"),
    "vendor": ("NAMES", "rank only these vendors"),
    "segment": ("NAMES", "rank only consumer, workstation, datacenter, apple, embedded or soc"),
    "software": ("NAMES", "rank only these stacks: CUDA, ROCm, Metal, oneAPI, CANN, …"),
    "status": ("NAMES", "rank only in_production, current, eol, export-only, modified cards"),
    "rentable": ("BOOL", "rank only what somebody rents out"),
    "max_usd": ("USD", "most that all boards together may cost to buy"),
    "max_usd_per_hour": ("USD", "most that all boards together may cost to rent for an hour"),
    "max_watts": ("W", "most that all boards together may draw"),
    "hours_per_day": ("HOURS", f"work a day, for costs (default {_COSTS.hours_per_day:g})"),
    "usd_per_kwh": ("USD", f"price of electricity (default {_COSTS.usd_per_kwh:g})"),
    "amortisation_years": ("YEARS", f"to write off (default {_COSTS.amortisation_years:g})"),
    "host_usd": ("USD", "price of the computer around the boards (default: not counted)"),
    "quantized_repos": ("list|sizes", "also the quantized repositories published for it"),
    "rig": ("CARDS", 'place it on this machine, as llama.cpp would: "3090 + 3060 + 64gb ram"'),
    "top": ("N", "rows of the ranking, 0 for all (default 20)"),
    "context": ("TOKENS", "tokens per sequence (default 8192)"),
    "concurrency": ("N", "sequences at once (default 1)"),
    "kv_dtype": ("TYPE", "cache type: auto, bf16, fp8, q8_0, …, or keys/values: q8_0/f16"),
    "engine": ("SLUG", "engine for every quantization; default: each one's usual engine"),
    "engine_version": ("VERSION", "engine version"),
    "tensor_parallel": ("N", "tensor-parallel degree"),
    "pipeline_parallel": ("N", "pipeline stages"),
    "expert_parallel": ("N", "ranks to deal whole experts out to (vLLM)"),
    "memory_utilization": ("SHARE", "share of the card the engine may use, 0.1 to 1"),
    "max_num_seqs": ("N", "most sequences a serving engine schedules at once"),
    "max_num_batched_tokens": ("N", "most tokens of one scheduling step"),
    "batch_size": ("N", "llama.cpp: logical batch, in tokens"),
    "ubatch_size": ("N", "llama.cpp: physical batch, in tokens"),
    "enforce_eager": ("BOOL", "run without CUDA graphs"),
    "text_only": ("BOOL", "leave out the vision and audio parts of a multimodal model"),
    "draft_tokens": ("N", "tokens that the model's own draft layers guess ahead (default 0)"),
    "flash_attention": ("BOOL", "false when attention materialises its scores"),
    "gpu_layers": ("N", "llama.cpp: layers on the GPU, the output counted as one"),
    "cpu_moe": ("BOOL", "llama.cpp: routed experts stay in system memory"),
    "width": ("PIXELS", "diffusers: width of the picture (default: the pipeline's own)"),
    "height": ("PIXELS", "diffusers: height of the picture"),
    "frames": ("N", "diffusers: frames of the video"),
    "cpu_offload": ("MODE", f"diffusers: what waits in system memory: {', '.join(OFFLOADS)}"),
}


class _Parser(argparse.ArgumentParser):
    """Raises InvalidRequest instead of exiting, so that `--json` can answer in JSON."""

    def error(self, message: str) -> NoReturn:
        raise InvalidRequest(field="command line", value="", reason=message)


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of `python -m gpusizer`: of the one command that `argv` begins with, if it does.

    A command has dozens of options; those of the others would only be there to be passed over.
    """
    parser = _Parser(prog="gpusizer", description="Which GPUs run a Hugging Face model, and why.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = [name for name in argv[:1] if name in _COMMANDS]
    for name in asked or _COMMANDS:
        meaning, add_arguments = _COMMANDS[name]
        command = commands.add_parser(name, help=meaning)
        add_arguments(command)
        command.add_argument("--json", action="store_true", help="one JSON document on stdout")
        command.add_argument(
            "--offline", action="store_true", help="embedded snapshot and cache only"
        )
    return parser


def _size(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="model ID or Hub URL")
    _add_fields(command)


def _train(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", help="model ID or Hub URL")
    for field, (metavar, meaning) in _training_help().items():
        command.add_argument(f"--{field.replace('_', '-')}", metavar=metavar, help=meaning)


def _batch(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", nargs="?", default="-", help='input file, "-" for standard input')


def _gpus(command: argparse.ArgumentParser) -> None:
    command.add_argument("query", nargs="*", help="words that the name must contain")
    _add_fields(command, without=tuple(set(SIZE_FIELDS) - set(FILTER_FIELDS)))


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("gpus", nargs="+", metavar="GPU", help="slug, alias or 2x4090")
    command.add_argument("--model", help="also fit, speed and price for this model")
    _add_fields(command, without=("gpu", "gpu_count", "top", "rank_by", "rig", *FILTER_FIELDS))


def _models_for(command: argparse.ArgumentParser) -> None:
    tasks = import_module("gpusizer.models_for.tasks").TASKS
    about_one_model = import_module("gpusizer.models_for.request").ABOUT_ONE_MODEL
    command.add_argument(
        "gpu", nargs="*", metavar="GPU", help='slug, alias, 2x4090, or "3090 + 3060 + 64gb ram"'
    )
    command.add_argument("--models", metavar="IDS", help="look at these, comma-separated")
    command.add_argument("--model-task", metavar="TASK", help=f"only: {', '.join(tasks)}")
    _add_fields(command, without=("gpu", *about_one_model))


def _log(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help='the log, "-" for standard input')
    command.add_argument("--model", help="model ID, where the log has a local path")
    command.add_argument("--gpu", help="the GPU, where the log does not name it")


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "size": ("memory at every quantization, and ranked GPUs", _size),
    "train": ("memory, time and price of fine-tuning", _train),
    "batch": ("JSON Lines of requests in, of reports out", _batch),
    "gpus": ("the GPU catalogue", _gpus),
    "compare": ("GPUs side by side", _compare),
    "models-for": ("which models fit a GPU or a machine", _models_for),
    "log": ("an engine's start-up log, measured against predictions", _log),
}


def _training_help() -> dict[str, tuple[str, str]]:
    """Options of `train`, loaded with it: their words come from what only it needs."""
    found: dict[str, tuple[str, str]] = import_module("gpusizer.cli.training_options").TRAINING_HELP
    return found


def _add_fields(parser: argparse.ArgumentParser, without: tuple[str, ...] = ()) -> None:
    for field in SIZE_FIELDS:
        if field == "model" or field in without:
            continue
        metavar, meaning = _HELP[field]
        parser.add_argument(f"--{field.replace('_', '-')}", metavar=metavar, help=meaning)


def request_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """The request fields that were given, unchecked."""
    given = vars(arguments)
    return {field: given[field] for field in SIZE_FIELDS if given.get(field) is not None}


def training_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """The training fields that were given, unchecked."""
    given = vars(arguments)
    names = ("model", *_training_help())
    return {field: given[field] for field in names if given.get(field) is not None}
