"""The commands in the README's table of questions are understood, and answer them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from gpusizer.cli.arguments import build_parser
from tests.cli.test_cli import ROOT, run
from tests.each import each

MODEL = "Qwen/Qwen3-8B"
_ROW = re.compile(r"^\| (.+?) \| (.*`(?:gpusizer |--).+) \|$", re.M)
_OF_FILES = ("log", "check", "batch")
"""Commands that read a file, a program or a server of the reader's."""


def commands() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each question with a command line; options alone follow the command before them, or `size`
    with a model.
    """
    table = (ROOT / "README.md").read_text("utf-8").split("| question | command |")[1]
    for question, cell in _ROW.findall(table.split("\n\n")[0]):
        start = ["size", MODEL]
        for code in re.findall(r"`(.+?)`", cell):
            line = shlex.split(code.replace("…", MODEL))
            if line[0] == "gpusizer" and len(line) > 1:
                start = [word for word in line[1:3] if not word.startswith("--")]
                yield question, tuple(line[1:])
            elif line[0].startswith("--"):
                yield question, (*start, *line)


COMMANDS = dict.fromkeys(commands())
ANSWERED = [
    (question, words)
    for question, words in COMMANDS
    if words[0] not in _OF_FILES and not words[1].startswith("./")
]

_SHOWN: dict[str, Callable[[dict[str, Any]], bool]] = {
    "--min-tok-s": lambda answer: answer["workload"]["min_tok_s"] is not None,
    "--gpu": lambda answer: bool(answer["ranking"][0]["reasons"]),
    "--rig": lambda answer: bool(answer["rig"]["devices"]),
    "--ram-gb": lambda answer: answer["ranking"][0]["verdict"] == "from_disk",
    "--rank-by": lambda answer: bool(answer["ranking"][0]["why"]),
    "--gpu-usd-per-hour": lambda answer: answer["ranking"][0]["price"]["rent_is_own"] is True,
    "--license": lambda answer: len(answer["models"]) > 3,
    "--live": lambda answer: answer["use"]["as_of"] is not None,
    "--method": lambda answer: bool(answer["estimates"][0]["trainable_parameters"]),
    "--requests-per-second": lambda answer: bool(answer["serving_plan"]["rows"]),
    "--acceptance-rate": lambda answer: answer["ranking"][0]["speculation"]["speedup"] > 0,
}
"""What the answer to a command with this option has to show."""


def test_every_row_has_a_command() -> None:
    questions = {question for question, _ in COMMANDS}
    assert len(questions) >= 13 and len(COMMANDS) > len(questions)
    options = {word for _, words in ANSWERED for word in words}
    assert set(_SHOWN) <= options


@each("words", [words for _, words in COMMANDS])
def test_a_command_is_understood(words: tuple[str, ...]) -> None:
    assert build_parser(words).parse_args(words).command == words[0]


@each("words", [words for _, words in ANSWERED])
def test_a_command_answers(words: tuple[str, ...]) -> None:
    shown = run(*words, "--offline", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    answer = json.loads(shown.stdout)
    assert answer.get("ranking") or answer.get("models") or answer.get("gpus") or answer["rig"]
    for option, is_shown in _SHOWN.items():
        if option in words:
            assert is_shown(answer), option
