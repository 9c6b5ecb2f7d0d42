"""Each line of what people ask for, in the shell; a line of a batch answers the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_cli import POSITIONAL, run
from tests.each import each
from tests.front_door import CUSTOM, QUESTIONS, Question
from tests.nightly import some
from tests.priced_day import priced_day

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

_COMMANDS = {
    "/size_model": "size",
    "/train_model": "train",
    "/compare_gpus": "compare",
    "/models_for_gpu": "models-for",
}


def words(question: Question) -> list[str]:
    """The command line of a question."""
    command = _COMMANDS[question.endpoint]
    fields = dict(question.fields)
    asked = fields.pop(POSITIONAL[command])
    names = asked if isinstance(asked, list) else [asked]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
    return [command, *names, *options, "--offline", "--json"]


@each("line", some(list(QUESTIONS), of=2))
def test_a_question_in_the_shell_and_in_a_batch(line: str) -> None:
    question = QUESTIONS[line]
    shown = run(*words(question))
    assert (shown.returncode, shown.stderr) == (0, "")
    answer = json.loads(shown.stdout)
    question.check(answer)
    asked: dict[str, Any] = {"task": _COMMANDS[question.endpoint], **question.fields}
    assert run("batch", "--offline", stdin=json.dumps(asked)).stdout == shown.stdout


def test_the_table_says_what_a_disk_allows() -> None:
    shown = run(*words(QUESTIONS["disk"])[:-1], "--details").stdout
    assert "1 x GeForce RTX 3090 24GB: pages from disk" in shown
    assert "a disk of 3.5 GB/s allows at most" in shown
    assert "fit in no memory" in shown


def test_the_table_says_what_is_recommended_and_what_else() -> None:
    shown = run("size", "Qwen/Qwen3-8B", "--offline", "--top", "3", "--details").stdout
    first = json.loads(run("size", "Qwen/Qwen3-8B", "--offline", "--top", "1", "--json").stdout)
    said = first["answer"]
    assert shown.startswith(f"{said['sentence']}\n- {said['weighed'][0]['message']}\n")
    for kind in ("cheapest to buy", "fastest", "cheapest to rent"):
        assert f"\n- The {kind} is " in shown
    assert "GPUs (recommended first)" in shown


def test_the_table_of_a_described_card_names_what_was_stated_and_what_measures_it() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "q4_k_m", "--engine", "llama.cpp")
    asked = (*asked, "--details")
    described = run(*asked, "--gpu", f"{CUSTOM} (80 GB free)").stdout
    assert "buy: $5,000 (your price)" in described
    assert "A card that you described: 89.4 GiB of memory" in described
    assert (
        "80 GB, which are 74.5 GiB of its 89.4 GiB, are free for the model, as stated" in described
    )
    listed = run(*asked, "--gpu", "4090").stdout
    assert "  measured: " in listed and "https://" in listed
    assert (
        "To measure it yourself:\n    git clone " in listed
        and "\n    llama-bench -m Qwen3" in listed
    )
    assert "should print tg128" in listed and "if slower: " in listed
