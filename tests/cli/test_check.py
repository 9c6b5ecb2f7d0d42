"""`gpusizer check` runs a benchmark or reads a server, and prints measured beside predicted."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpusizer.cli import check_command
from tests.bench_outputs import llama_bench, vllm_metrics
from tests.cli.test_cli import run

MODEL = "Qwen/Qwen3-8B"
OUTPUT = llama_bench((512, 0, 0, 9000.0), (0, 128, 0, 30.0))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A llama-bench that notes its options, and does what its folder's files say."""
    path = tmp_path / "llama-bench"
    path.write_text(
        f"""#!{sys.executable}
import pathlib, sys, time
here = pathlib.Path({str(tmp_path)!r})
(here / "options").write_text(" ".join(sys.argv[1:]))
if (here / "slow").exists():
    time.sleep(600)
print("ggml_cuda_init: found 1 CUDA devices:", file=sys.stderr)
if (here / "broken").exists():
    sys.exit("error: failed to load the model")
print((here / "output").read_text())
""",
        encoding="utf-8",
    )
    path.chmod(0o755)
    (tmp_path / "output").write_text(OUTPUT, encoding="utf-8")
    return path


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


class Server:
    """A server on this machine whose counters grow with every reading."""

    def __init__(self) -> None:
        self.readings = 0
        self.status = 200
        self.paths: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.paths.append(self.path)
                self.send_response(server.status)
                self.send_header("location", "http://127.0.0.1:9/metrics")
                self.end_headers()
                self.wfile.write(server.page().encode())

            def log_message(self, format: str, *arguments: object) -> None:
                """Stay silent."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def page(self) -> str:
        self.readings += 1
        tokens = 4000 * self.readings
        return vllm_metrics(tokens, tokens / 100, 3 * tokens, 4 * self.readings)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.http.serve_forever, daemon=True)
    thread.start()
    yield running
    running.http.shutdown()
    running.http.server_close()
    thread.join()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that a wait moves on, so that no test waits."""
    waited = [0]

    def sleep(seconds: int) -> None:
        waited[0] += seconds

    stub = SimpleNamespace(sleep=sleep, monotonic=lambda: float(waited[0]))
    monkeypatch.setattr(check_command, "time", stub)
    return waited


def test_a_server_is_read_twice(server: Server, clock: list[int]) -> None:
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
    server: Server, clock: list[int], status: int, code: str
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


def test_a_server_does_not_say_which_gpu_it_has(server: Server) -> None:
    assert reason(run("check", "--vllm", server.url, "--offline", "--json")) == "needed"
    assert server.paths == []
