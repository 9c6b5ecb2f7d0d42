"""The command `desk`: its table, its JSON, its files, and its failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.test_cli import run, run_process

CHAT, SPEECH = "Qwen/Qwen3-8B users=2", "openai/whisper-large-v3 role=speech resident=no"
DESK = ("desk", CHAT, SPEECH, "--gpu", "2x 3090 + 64 GB RAM", "--offline")


def test_the_table_says_who_is_where_and_with_which_share() -> None:
    result = run(*DESK)
    assert result.returncode == 0 and result.stderr == ""
    first, *_ = result.stdout.splitlines()
    assert first.startswith("2 models stay loaded together on 2 × GeForce RTX 3090 24GB")
    (speech,) = (line for line in result.stdout.splitlines() if " speech " in line)
    assert "vllm" in speech and "--gpu-memory-utilization 0." in speech
    assert "0: GeForce RTX 3090 24GB" in result.stdout


def test_json_and_the_files_agree(tmp_path: Path) -> None:
    compose, swap = tmp_path / "compose.yaml", tmp_path / "config.yaml"
    files = ("--compose", str(compose), "--llama-swap", str(swap))
    answer = json.loads(run(*DESK, *files, "--json").stdout)
    assert compose.read_text("utf-8") == answer["compose"]
    assert swap.read_text("utf-8") == answer["llama_swap"]
    services = yaml.safe_load(answer["compose"])["services"]
    started = [model for model in answer["models"] if model["start"]]
    assert len(services) == len(started) == 2
    assert "devices" in run(*DESK, "--details").stdout


def test_a_process_of_its_own_answers_the_same() -> None:
    assert run_process(*DESK).stdout == run(*DESK).stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (("Qwen/Qwen3-8B",) * 9, 2, "invalid_request"),
        (("Qwen/Qwen3-8B role=cook",), 2, "invalid_request"),
        (("Qwen/Qwen3-8B quant=q99",), 2, "unknown_quant"),
        (("Qwen/Qwen3-8B engine=none",), 2, "unknown_engine"),
        (("Qwen/Qwen3-8B", "org/unknown"), 3, "hub_unreachable"),
        (("a model with spaces",), 2, "invalid_model_id"),
        (("Qwen/Qwen3-8B", "--gpu", "rtx 9999"), 2, "unknown_gpu"),
        (
            ("Qwen/Qwen3-8B", "--gpu", "3090", "--compose", "/no/such/folder/file"),
            2,
            "invalid_request",
        ),
        ((), 2, "invalid_request"),
    ],
)
def test_failures_have_their_code(arguments: tuple[str, ...], exit_code: int, code: str) -> None:
    result = run("desk", *arguments, "--offline", "--json")
    assert result.returncode == exit_code
    assert json.loads(result.stdout.splitlines()[-1])["error"]["code"] == code
    assert "Traceback" not in result.stderr
