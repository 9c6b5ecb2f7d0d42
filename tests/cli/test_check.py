"""`gpusizer check` runs llama-bench, and prints measured beside predicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import run
from tests.engines_here import write_llama_bench

MODEL = "Qwen/Qwen3-8B"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a llama-bench."""
    return write_llama_bench(tmp_path)


def check(program: Path, *arguments: str) -> Any:
    return run("check", *arguments, "--llama-bench", str(program), "--offline", "--json")


def reason(result: Any) -> str:
    assert result.returncode == 2, result.stdout
    return str(json.loads(result.stdout)["error"]["reason"])


def test_llama_bench_runs_with_the_file_and_the_lengths(program: Path) -> None:
    weights = str(program.parent / "Qwen3-8B-Q4_K_M.gguf")
    result = check(program, MODEL, "--weights", weights, "--depth", "4096")
    assert result.returncode == 0, result.stderr
    options = (program.parent / "options").read_text(encoding="utf-8")
    assert options == f"-m {weights} -p 512 -n 128 -d 4096 -o json"
    document = json.loads(result.stdout)
    assert [speed["verdict"] for speed in document["compared"]] == ["in_band", "below"]
    assert document["gpu"] == "rtx-4090-24gb"
    assert document["row"]["measured"]["decode_tokens_per_second"] == 30.0
    assert document["when_less"][0]["code"] == "look_power_limit"


def test_a_repository_of_gguf_files_is_named_with_its_quantization(program: Path) -> None:
    check(program, "org/Qwen3-8B-GGUF:Q4_K_M")  # which offline cannot be read
    options = (program.parent / "options").read_text(encoding="utf-8")
    assert options.startswith("-hf org/Qwen3-8B-GGUF:Q4_K_M -p 512")
    assert reason(check(program, MODEL)) == "no_gguf_file"


def test_people_read_a_table_and_the_row(program: Path) -> None:
    arguments = ("--weights", "m.gguf", "--llama-bench", str(program), "--offline")
    result = run("check", MODEL, *arguments)
    assert result.returncode == 0
    assert "below the band" in result.stdout and "Slower than predicted:" in result.stdout
    row = json.loads(result.stdout.strip().splitlines()[-1])
    assert row["kind"] == "throughput" and row["source_url"] == "unpublished"


def test_programs_that_fail(program: Path) -> None:
    weights = ("--weights", "m.gguf")
    (program.parent / "output").write_text("usage: llama-bench", encoding="utf-8")
    assert reason(check(program, MODEL, *weights)) == "not_llama_bench"
    (program.parent / "broken").touch()
    failed = check(program, MODEL, *weights)
    assert reason(failed) == "program_failed"
    assert "failed to load the model" in failed.stdout
    (program.parent / "slow").touch()
    assert reason(check(program, MODEL, *weights, "--timeout", "1")) == "timeout"
    assert reason(check(program.parent / "none", MODEL, *weights)) == "no_such_program"
    assert reason(check(program, MODEL, *weights, "--prompt", "-1")) == "out_of_range"
    assert "model" in reason(check(program))
