"""`gpusizer check` runs a benchmark or reads a server, and prints measured beside predicted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import run
from tests.engines_here import VllmServer, moving_clock, running_vllm, write_llama_bench

MODEL = "Qwen/Qwen3-8B"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A llama-bench."""
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
    assert reason(check(program)) == "empty"


@pytest.fixture
def server() -> Iterator[VllmServer]:
    """A vLLM."""
    with running_vllm() as running:
        yield running


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seconds that were waited, without waiting."""
    return moving_clock(monkeypatch)


def test_a_server_is_read_twice(server: VllmServer, clock: list[int]) -> None:
    result = run(
        *("check", "--vllm", server.url, "--gpu", "h100", "--seconds", "20"),
        *("--engine-version", "0.11", "--offline", "--json"),
    )
    assert result.returncode == 0, result.stderr
    assert server.paths == ["/metrics", "/metrics"] and clock == [20]
    document = json.loads(result.stdout)
    assert document["model"] == MODEL
    assert document["compared"][0]["measured"] == pytest.approx(100)
    assert document["compared"][1]["measured"] == pytest.approx(200)
    assert document["row"]["concurrency"] == 2


@pytest.mark.parametrize(
    ("status", "code"), [(302, "redirect"), (404, "unexpected_answer"), (500, "unexpected_answer")]
)
def test_servers_that_are_something_else(
    server: VllmServer, clock: list[int], status: int, code: str
) -> None:
    server.status = status
    asked = ("--gpu", "h100", "--offline", "--json")
    assert reason(run("check", "--vllm", f"{server.url}/v1", *asked)) == code
    assert server.paths == ["/metrics"]


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://127.0.0.1:9", "connection"),
        ("127.0.0.1:8000", "address"),
        ("file:///etc/passwd", "address"),
        ("http://user:word@127.0.0.1:9", "address"),
        ("http://127.0.0.1:99999", "address"),
    ],
)
def test_addresses_that_cannot_be_read(address: str, code: str, clock: list[int]) -> None:
    assert reason(run("check", "--vllm", address, "--gpu", "h100", "--offline", "--json")) == code


def test_a_server_does_not_say_which_gpu_it_has(server: VllmServer) -> None:
    assert reason(run("check", "--vllm", server.url, "--offline", "--json")) == "needed"
    assert server.paths == []
