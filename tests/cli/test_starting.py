"""What the shell loads to start, and that the examples of the README run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusizer.cli.arguments import build_parser
from tests.cli.test_cli import ENVIRONMENT, ROOT, run
from tests.each import each
from tests.hub_emulator import gguf_repo

_LOADED = """
import sys
from gpusizer.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("\\n" + " ".join(sys.modules))
"""
READERS = {"requests", "redis", "numpy", "gguf", "safetensors", "markdown_it", "gradio", "pandas"}
"""What reading the Hub, a local file or a card needs, and the page."""


def loaded(*arguments: str) -> tuple[str, set[str]]:
    """What a command line prints, and the modules that it has loaded at its end."""
    shown = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
    )
    answer, _, names = shown.stdout.rstrip().rpartition("\n")
    return answer, set(names.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_commands_are_listed_without_loading_them(arguments: list[str]) -> None:
    shown, modules = loaded(*arguments)
    assert "gpusizer" in shown
    ours = {name for name in modules if name.startswith("gpusizer.")}
    assert len(ours) < 10
    assert not modules & {*READERS, "pydantic", "huggingface_hub", "babel"}


def test_an_answer_from_what_is_stored_loads_no_reader(tmp_path: Path) -> None:
    shown, modules = loaded("size", "Qwen/Qwen3-8B", "--offline", "--json")
    assert json.loads(shown)["model"]["parameters"] == 8_190_735_360
    assert not modules & {
        *READERS,
        "huggingface_hub.hf_api",
        "scrapers.repository.hub",
        "scrapers.client.http",
    }
    repo = gguf_repo("org/name", ["Q4_K_M"])
    file = tmp_path / "model-Q4_K_M.gguf"
    content = repo.files[file.name]
    file.write_bytes(content.read(0, content.size))
    shown, modules = loaded("size", str(file), "--offline", "--json")
    assert json.loads(shown)["model"]["source"] == "local"
    assert "scrapers.formats.gguf_header" in modules
    assert not modules & {"gguf", "numpy", "gradio", "pandas"}


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
