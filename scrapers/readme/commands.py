"""Commands of inference engines in a model card. Pure.

`shlex` splits them; `arguments` has the options. No part of a command is ever run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from gpusizer.hub.card_statements import EngineCommand, ModelCardStatement
from scrapers.readme.arguments import (
    IMAGES,
    LAUNCHER_OPTIONS,
    LAUNCHERS,
    PROGRAMS,
    Fields,
    Program,
    name,
    read_arguments,
)
from scrapers.readme.quants import quant_in
from scrapers.readme.words import says

_MOST_COMMAND_CHARS = 4_000
_MOST_WORDS = 300
_COMMAND_FIELDS = {field.name for field in fields(EngineCommand)}
_STATEMENT_FIELDS = ("model", "quant", "context", "native_context", "yarn_factor")
_CONTAINERS = ("docker", "podman")
# Options whose value may name an engine without being the image.
_NO_IMAGES = ("-v", "--volume", "--mount", "-e", "--env", "-w", "--name", "--entrypoint")
_HINTS = (*(program.words[0] for program in PROGRAMS), *LAUNCHERS, *_CONTAINERS)


@dataclass(frozen=True, slots=True)
class CommandText:
    """One command of a code block or paragraph: its words and lines."""

    text: str
    line: int
    last_line: int


def command_statements(source: str, line: int) -> Iterator[ModelCardStatement]:
    """Yield the commands in a code block or paragraph; `line` is its first line."""
    if any(hint in source for hint in _HINTS):
        read = map(shell_command, _logical_lines(source, line))
        yield from (statement for statement in read if statement is not None)


def shell_command(command: CommandText) -> ModelCardStatement | None:
    """Return the statement of one command line; None if it starts no engine."""
    words = _split(command.text)
    placed = _program_in(words)
    if placed is None:
        return _launched_script(words, command)
    program, start = placed
    stop = start + len(program.words)
    read, rest = read_arguments(words[stop:_MOST_WORDS], program.options)
    launcher = _launched(words[:start])
    if "tensor_parallel" in read:  # it divides the model among the launcher's processes
        launcher.pop("processes", None)
    if program.takes_model and "model" not in read:
        read["model"] = name(rest[0]) if rest else None
    return _statement(program.engine, {**launcher, **read}, command)


def _launched_script(words: Sequence[str], command: CommandText) -> ModelCardStatement | None:
    # A script of the author's own that PyTorch starts on several GPUs, unless it trains.
    launched = any(word_ in LAUNCHERS for word_ in words[:8])
    if not launched or says("training", command.text.replace("_", " ")):
        return None
    read = _launched(words)
    return _statement("pytorch", read, command) if read else None


def _launched(words: Sequence[str]) -> Fields:
    # Processes of a node times nodes, or all processes.
    read, _ = read_arguments(words, LAUNCHER_OPTIONS)
    nodes, each = read.pop("nodes", 1), read.pop("processes", None)
    return {} if each is None else {"processes": nodes * each}


def _statement(engine: str, read: Fields, command: CommandText) -> ModelCardStatement:
    # The quantization is read from the model's name, too.
    file = read.pop("file", None)
    model = _without_tag(read.get("model"))
    stored = quant_in(str(file or read.get("model") or "").rpartition("/")[2])
    own: Fields = {key: read[key] for key in _STATEMENT_FIELDS if key in read}
    own["model"] = None if model is None or model.startswith((".", "/")) else model
    own["quant"] = own.get("quant") or stored
    settings = EngineCommand(**{key: read[key] for key in read if key in _COMMAND_FIELDS})
    return ModelCardStatement(
        "command",
        command.line,
        command.last_line,
        command.text,
        engine=engine,
        file=None if file is None else str(file).rpartition("/")[2],
        count=settings.gpus,
        command=settings,
        **own,
    )


def _without_tag(model: str | None) -> str | None:
    # "hf.co/org/name:Q4_K_M" without its quantization.
    if model is None or "/" not in model:
        return model
    return (model.rpartition(":")[0] or model).removeprefix("hf.co/")


def _program_in(words: Sequence[str]) -> tuple[Program, int] | None:
    # The position is that of the first word.
    for position in range(min(len(words), _MOST_WORDS)):
        for program in PROGRAMS:
            called = words[position : position + len(program.words)]
            if len(called) == len(program.words) and _is_called(called, program.words):
                return program, position
    return _image_in(words)


def _image_in(words: Sequence[str]) -> tuple[Program, int] | None:
    # The position is that of the container's image.
    if not any(word_ in _CONTAINERS for word_ in words[:4]):
        return None
    for position, (before, image) in enumerate(pairwise(words), start=1):
        is_named = image[:1].isalpha() and "=" not in image and ("/" in image or ":" in image)
        if is_named and before not in _NO_IMAGES:
            engine = next((program for word_, program in IMAGES.items() if word_ in image), None)
            return (engine, position + 1) if engine else None
    return None


def _is_called(called: Sequence[str], program: Sequence[str]) -> bool:
    # A path may precede the program.
    ends = called[0] == program[0] or called[0].endswith(f"/{program[0].removeprefix('./')}")
    return ends and tuple(called[1:]) == tuple(program[1:])


def _logical_lines(source: str, line: int) -> Iterator[CommandText]:
    # Lines that end in a backslash are joined; comments and prompts are removed.
    joined, first = "", line
    for number, raw in enumerate(source[: 5 * _MOST_COMMAND_CHARS].split("\n"), start=line):
        text = raw.strip().removeprefix("$ ").strip().strip("`")
        if not joined:
            first = number
            if text.startswith("#"):
                continue
        if text.endswith("\\"):
            joined = f"{joined}{text[:-1]} "[:_MOST_COMMAND_CHARS]
            continue
        whole_text = f"{joined}{text}"[:_MOST_COMMAND_CHARS].strip()
        joined = ""
        if whole_text:
            yield CommandText(whole_text, first, number)
    if joined.strip():
        yield CommandText(joined.strip(), first, number)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)[:_MOST_WORDS]
    except ValueError:  # an apostrophe that is not closed
        return text.split()[:_MOST_WORDS]
