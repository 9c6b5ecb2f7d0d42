"""Each line of what people ask for, in the shell; a line of a batch answers the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.api.plain_http import COMMANDS
from tests.cli.test_cli import POSITIONAL, run
from tests.each import each
from tests.front_door import CUSTOM, QUESTIONS, Question
from tests.nightly import some
from tests.priced_day import priced_day

pytestmark = pytest.mark.usefixtures(priced_day.__name__)


def words(question: Question) -> list[str]:
    """The command line of a question."""
    command = COMMANDS[question.endpoint]
    fields = dict(question.fields)
    asked = fields.pop(POSITIONAL[command])
    names = asked if isinstance(asked, list) else [asked]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
    return [command, *names, *options, "--offline", "--json"]


@each("line", QUESTIONS)
def test_a_question_in_the_shell_and_in_a_batch(line: str) -> None:
    question = QUESTIONS[line]
    shown = run(*words(question))
    assert (shown.returncode, shown.stderr) == (0, "")
    answer = json.loads(shown.stdout)
    question.check(answer)
    if line in some(list(QUESTIONS), of=4):
        asked: dict[str, Any] = {"task": COMMANDS[question.endpoint], **question.fields}
        assert run("batch", "--offline", stdin=json.dumps(asked)).stdout == shown.stdout


def test_the_table_says_what_a_disk_allows() -> None:
    shown = run(*words(QUESTIONS["disk"])[:-1], "--details").stdout
    assert re.search(r"GeForce RTX 3090 24GB .* from_disk ", shown)
    assert "a disk of 3.5 GB/s allows at most" in shown
    assert "fit in no memory" in shown


def test_the_table_says_what_is_recommended_and_what_else() -> None:
    shown = run("size", "Qwen/Qwen3-8B", "--offline", "--top", "3", "--details").stdout
    first = json.loads(run("size", "Qwen/Qwen3-8B", "--offline", "--top", "1", "--json").stdout)
    said = first["answer"]
    assert shown.startswith(f"{said['sentence']}\n- {said['weighed'][0]['message']}\n")
    for kind in ("cheapest to buy", "fastest", "cheapest to rent"):
        assert f"\n- The {kind} is " in shown
    assert re.search(r"^  rank by +recommended$", shown, re.M)


def test_the_table_of_a_described_card_names_what_was_stated_and_what_measures_it() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "q4_k_m", "--engine", "llama.cpp")
    asked = (*asked, "--details")
    described = run(*asked, "--gpu", f"{CUSTOM} (80 GB free)").stdout
    assert re.search(r"^ +buy usd +5000\n(?:.*\n)*? +buy basis +own$", described, re.M)
    assert "A card that you described: 89.4 GiB of memory" in described
    assert (
        "80 GB, which are 74.5 GiB of its 89.4 GiB, are free for the model, as stated" in described
    )
    listed = run(*asked, "--gpu", "4090").stdout
    measured = listed.split("\n    measured\n")[1]
    assert "https://" in measured and re.search(r"^ +git clone ", measured, re.M)
    assert re.search(r"^ +llama-bench -m Qwen3.* -d 8064 ", measured, re.M)
    assert re.search(r"\btg128 @ d8064\b", measured), "what it prints"
    assert "Flash attention: where the backend lacks it" in measured, "why it may be slower"
