"""Engines of this machine that `gpusizer check` measures: a llama-bench, and a vLLM's metrics."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusizer.cli import check_command
from tests.bench_outputs import llama_bench, vllm_metrics

_OUTPUT = llama_bench((512, 0, 0, 9000.0), (0, 128, 0, 30.0))


def write_llama_bench(folder: Path) -> Path:
    """Write a llama-bench that notes its options, and does what its folder's files say."""
    path = folder / "llama-bench"
    path.write_text(
        f"""#!{sys.executable}
import pathlib, sys, time
here = pathlib.Path({str(folder)!r})
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
    (folder / "output").write_text(_OUTPUT, encoding="utf-8")
    return path


class VllmServer:
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
        """The metrics after one more second of four users."""
        self.readings += 1
        tokens = 4000 * self.readings
        return vllm_metrics(tokens, tokens / 100, 3 * tokens, 4 * self.readings)


@contextmanager
def running_vllm() -> Iterator[VllmServer]:
    """Serve the metrics until the context is left."""
    running = VllmServer()
    thread = threading.Thread(target=running.http.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.http.shutdown()
        running.http.server_close()
        thread.join()


def moving_clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give `gpusizer check` a clock that a wait moves on, so that no test waits.

    Returns one number: the seconds waited so far.
    """
    waited = [0]

    def sleep(seconds: int) -> None:
        waited[0] += seconds

    stub = SimpleNamespace(sleep=sleep, monotonic=lambda: float(waited[0]))
    monkeypatch.setattr(check_command, "time", stub)
    return waited
