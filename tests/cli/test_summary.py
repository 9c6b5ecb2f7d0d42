"""The shell answers in forty lines; `--details` prints the rest, `--help-all` every option."""

from __future__ import annotations

import re

from gpusizer.cli.usual_options import USUAL
from tests.cli.test_cli import run
from tests.each import each

MOST_LINES = 40
QUESTIONS = {
    "need": ("size", "Qwen/Qwen3-32B"),
    "fit": ("size", "Qwen/Qwen3-32B", "--gpu", "4060,4090,2x3090,a100,h100,l40s"),
    "load": ("size", "Qwen/Qwen3-8B", "--requests-per-second", "5", "--ttft-ms", "500"),
    "users": ("size", "Qwen/Qwen3-8B", "--concurrency", "50"),
    "pipeline": ("size", "black-forest-labs/FLUX.1-dev"),
    "rig": ("size", "openai/gpt-oss-120b", "--rig", "3090 + 3060 + 64gb ram"),
    "compare": ("compare", "4090", "2x3090", "h100", "--model", "Qwen/Qwen3-8B"),
    "cards": ("compare", "4090", "a6000"),
    "models": ("models-for", "3060"),
    "train": ("train", "Qwen/Qwen3-8B"),
    "train on": ("train", "Qwen/Qwen3-32B", "--gpu", "4060"),
}


@each("name", QUESTIONS)
def test_forty_lines_answer(name: str) -> None:
    brief, details = (run(*QUESTIONS[name], "--offline", *more) for more in ((), ("--details",)))
    assert (brief.returncode, brief.stderr, details.returncode) == (0, "", 0)
    lines = brief.stdout.splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0] == details.stdout.splitlines()[0], "the conclusion comes first in both"
    assert len(details.stdout) > len(brief.stdout)
    assert "--details" in lines[-1]


@each("command", USUAL)
def test_help_tells_of_twenty_options(command: str) -> None:
    usual, every = (run(command, name).stdout for name in ("--help", "--help-all"))
    options = [set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", shown, re.M)) for shown in (usual, every)]
    assert options[0] < options[1]
    assert len(options[0] - {"--help", "--help-all"}) <= 21
