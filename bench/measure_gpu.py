"""Measures models of real configurations with random weights on this machine's GPU.

    pip install -r requirements-measure.txt
    python -m bench.measure_gpu [--model ID ...] [--context N ...] [--train full|lora ...]
                                [--device auto|cuda|cpu] [--out FILE] [--list]

Nothing is downloaded: configurations come from `data/generated/models`. Rows have the format of
`data/measurements` and are printed or written one JSON object per line. Without `--model` every
embedded model is measured that leaves memory free on the card. No other program may use the card.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from bench.measuring.backend import Backend, DeviceFull, NotBuildable, Training
from bench.measuring.choice import Choice, choose, every_choice, that_fit
from bench.measuring.protocol import measure_inference, measure_training
from bench.measuring.rows import UNPUBLISHED, Source, inference_rows, training_row
from gpusizer.core.units import GIB, format_gib

DEFAULT_CONTEXTS = (512, 2048, 8192)
_ON_A_CPU = 4 * GIB  # memory that is assumed for a device that does not report any


def rows(
    backend: Backend, choices: Iterable[Choice], arguments: argparse.Namespace, source: Source
) -> Iterator[dict[str, Any]]:
    """Yield the rows of each model; print and skip models that cannot be built or loaded."""
    device = backend.device
    for choice in choices:
        try:
            if not arguments.no_inference:
                readings = measure_inference(
                    backend, choice.config, arguments.dtype, arguments.context
                )
                yield from inference_rows(
                    choice.repo_id, arguments.dtype, list(readings), device, source
                )
            for training in trainings(arguments):
                step = measure_training(backend, choice.config, training)
                yield training_row(choice.repo_id, training, step, device, source)
        except (NotBuildable, DeviceFull) as error:
            _say(f"{choice.repo_id}: left out, {type(error).__name__} {error}"[:300])


def trainings(arguments: argparse.Namespace) -> Iterator[Training]:
    """Yield the requested training steps, with and without checkpointing."""
    for method in arguments.train:
        plain = Training(
            method, arguments.precision, arguments.sequence_length, arguments.micro_batch
        )
        yield plain
        yield replace(plain, gradient_checkpointing=True)


def chosen(arguments: argparse.Namespace, memory_bytes: int | None) -> list[Choice]:
    """Return the requested models, else all that fit. Raises SystemExit for unknown ones."""
    if not arguments.model:
        return that_fit(every_choice(), memory_bytes or _ON_A_CPU)
    choices = []
    for repo_id in arguments.model:
        choice = choose(repo_id)
        if choice is None:
            raise SystemExit(f"{repo_id} is not embedded, or cannot be built from its config.json")
        choices.append(choice)
    return choices


def open_backend(device: str) -> Backend:
    """Return PyTorch on a device. Raises SystemExit if PyTorch is not installed."""
    if (
        importlib.util.find_spec("torch") is None
        or importlib.util.find_spec("transformers") is None
    ):
        raise SystemExit("PyTorch and transformers are missing: see requirements-measure.txt")
    torch = importlib.import_module("torch")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    backend: Backend = importlib.import_module("bench.measuring.torch_backend").TorchBackend(device)
    return backend


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.measure_gpu")
    add = parser.add_argument
    add("--model", action="append", help="embedded model; default: all that leave room")
    add("--context", type=_positive, nargs="+", default=list(DEFAULT_CONTEXTS), metavar="TOKENS")
    add("--dtype", choices=("bf16", "f32"), default="bf16")
    add("--train", choices=("full", "lora"), nargs="+", default=[], help="also training steps")
    add("--no-inference", action="store_true")
    add("--precision", choices=("bf16", "mixed"), default="bf16", help="of training")
    add("--sequence-length", type=_positive, default=512)
    add("--micro-batch", type=_positive, default=1)
    add("--device", choices=("auto", "cuda", "cpu"), default="auto")
    add("--memory-gib", type=float, help="memory to choose models for, with --list")
    add("--out", type=Path, help="append rows to this file instead of printing them")
    add("--source-url", default=UNPUBLISHED, help="where the rows will be published")
    add("--source-group", default="gpusizer")
    add("--list", action="store_true", help="models that leave room, without measuring")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, or list the models that would be measured."""
    arguments = build_parser().parse_args(argv)
    if arguments.list:
        memory = None if arguments.memory_gib is None else int(arguments.memory_gib * GIB)
        for choice in chosen(arguments, memory):
            print(f"{format_gib(choice.weight_bytes):>10}  {choice.repo_id}")
        return
    backend = open_backend(arguments.device)
    source = Source(arguments.source_url, arguments.source_group, date.today().isoformat())
    measured = rows(backend, chosen(arguments, backend.device.memory_bytes), arguments, source)
    for row in measured:
        line = json.dumps(row, separators=(",", ":"))
        if arguments.out is None:
            print(line, flush=True)
        else:
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        _say(f"{row['id']}: {row['outcome']}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
