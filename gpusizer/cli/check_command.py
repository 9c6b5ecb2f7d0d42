"""The command `check`: it measures a speed on this machine and compares it with the prediction."""

from __future__ import annotations

import argparse
import shutil
import subprocess

from pydantic import TypeAdapter

from gpusizer.api.logs import speed_check_answer
from gpusizer.cli.output import Columns, print_answer, span, table
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.printable import json_text, printable
from gpusizer.core.validation import Count, fail
from gpusizer.hub.model_ref import ModelRef
from gpusizer.logs.llama_bench import MAX_CHARS, parse_llama_bench
from gpusizer.logs.log_checks import ComparedSpeed, SpeedCheck, check_llama_bench
from gpusizer.text import say_note
from gpusizer.usecases.sizer import Sizer

PROGRAM = "llama-bench"
_WHOLE = TypeAdapter[int](Count)
_VERDICTS = {
    "in_band": "in the band",
    "below": "below the band",
    "above": "above the band",
    "unknown": "nothing is predicted",
}
_SHOWN_ERROR = 200  # characters of what a program wrote before it failed


def run_check(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `check MODEL`: run llama-bench on the model, compare its tests and print both."""
    source = _source(sizer.parse(arguments.model), arguments.weights)
    numbers = {
        option: _bounded(name, getattr(arguments, name), low, 2**24)
        for option, name, low in (("-p", "prompt", 0), ("-n", "generate", 0), ("-d", "depth", 0))
    }
    options = [text for option, number in numbers.items() for text in (option, str(number))]
    timeout = _bounded("timeout", arguments.timeout, 1, 24 * 3600)
    program = arguments.llama_bench or PROGRAM
    output = _output_of(program, [*source, *options, "-o", "json"], timeout)
    bench = parse_llama_bench(output)
    checked = check_llama_bench(
        sizer, bench, arguments.model, arguments.gpu or "", arguments.quant or ""
    )
    print_answer(arguments, checked, speed_check_answer, check_text)


def check_text(checked: SpeedCheck) -> str:
    """Write measured and predicted speeds, what may explain them, and the row to contribute."""
    named = f"{checked.engine}, {checked.model}, {checked.count} x {checked.gpu}"
    parts = [printable(named), table(_COMPARED, checked.compared)]
    if checked.when_less:
        parts.append("\n".join(f"Slower than predicted: {say_note(n)}" for n in checked.when_less))
    parts.append("To contribute this run, open an issue with this row and where you publish it:")
    return "\n\n".join([*parts, printable(json_text(checked.row))])


_COMPARED: Columns[ComparedSpeed] = {
    "test": lambda speed: speed.name,
    "measured": lambda speed: f"{speed.measured:,.1f}",
    "predicted": lambda speed: f"{speed.predicted.likely:g}" if speed.predicted else "—",
    "band": lambda speed: span(speed.predicted) if speed.predicted else "—",
    "": lambda speed: _VERDICTS[speed.verdict],
}


def _source(ref: ModelRef, weights: str | None) -> list[str]:
    # A file of this machine, or one of a GGUF repository. Raises InvalidRequest if none is named.
    path = str(weights or getattr(ref, "path", ""))
    if path.endswith(".gguf"):
        return ["-m", path]
    if ref.tag:
        return ["-hf", f"{ref.repo_id}:{ref.tag}"]
    if ref.file and ref.file.endswith(".gguf"):
        return ["-hf", ref.repo_id, "-hff", ref.file]
    raise fail("model", ref.repo_id, "no_gguf_file")


def _output_of(program: str, options: list[str], timeout_seconds: int) -> str:
    # Raises InvalidRequest if the program is missing, fails or exceeds its time.
    path = shutil.which(program)
    if path is None:
        raise fail(PROGRAM, program, "no_such_program")
    try:
        process = subprocess.run(
            [path, *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise fail(PROGRAM, program, "timeout") from None
    except OSError as error:
        raise _failed(program, str(error.strerror)) from error
    if process.returncode != 0:
        raise _failed(program, process.stderr or f"exit status {process.returncode}")
    return process.stdout[:MAX_CHARS]


def _failed(program: str, why: str) -> InvalidRequest:
    detail = why.strip()[-_SHOWN_ERROR:] or "nothing"
    return fail(PROGRAM, program, "program_failed", detail=printable(detail))


def _bounded(name: str, text: str, low: int, high: int) -> int:
    # Raises InvalidRequest for other texts.
    try:
        number = _WHOLE.validate_python(text)
    except ValueError:
        raise fail(name, text, "not_an_integer") from None
    if not low <= number <= high:
        raise fail(name, text, "out_of_range", low=low, high=high)
    return number
