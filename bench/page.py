"""Compares the time and memory of the application with those of an empty Gradio page.

    python -m bench.page [--visits N] [--calls N] [--memory-calls N]

The application serves the embedded models; the other process serves an empty Gradio page with
endpoints that do nothing. Both run on this machine, and their measurements alternate. Every visit
uses a new window of Chromium with an empty cache; calls repeat one request. Prints medians, their
ratio, and the memory in MB that the process gains with each call.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # Gradio reads them when it is imported
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = "1000"
os.environ["GRADIO_ANALYTICS_MAX_EVENTS"] = "1"

import gradio as gr
import requests
from gradio.events import api
from playwright.sync_api import Browser, sync_playwright

from gpusizer.core.paths import DATA_DIR
from gpusizer.ui.serving import page_options

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
PAGE_TARGET = 1.6
_WARM_UP = 3
_TIMEOUT_SECONDS = 30
_CHROMIUM_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
_WAIT_FOR_FIELD = """() => new Promise(resolve => {
  const isShown = field => field.checkVisibility({checkVisibilityCSS: true});
  const look = () => [...document.querySelectorAll('gradio-app input, gradio-app textarea')]
    .some(isShown) ? resolve(performance.now()) : requestAnimationFrame(look);
  look();
})"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running process: its URL, with a slash at the end, and its process ID."""

    address: str
    pid: int

    def call(self, endpoint: str, **parameters: Any) -> Any:
        """Call an endpoint over HTTP: post the event, then read its stream to the end."""
        calls = f"{self.address}gradio_api/call"
        event = _HTTP.post(f"{calls}/v2/{endpoint}", json=parameters, timeout=_TIMEOUT_SECONDS)
        event_id = event.json()["event_id"]
        stream = _HTTP.get(f"{calls}/{endpoint}/{event_id}", timeout=_TIMEOUT_SECONDS).text
        kind, _, data = stream.strip().rpartition("\n")
        if "event: complete" not in kind:
            raise RuntimeError(f"{endpoint}: {stream[:200]}")
        return json.loads(data.removeprefix("data: "))[0]

    def resident_bytes(self) -> int:
        """Return the resident memory of the process, from /proc."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


_HTTP = requests.Session()


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.page")
    parser.add_argument("--visits", type=int, default=7)
    parser.add_argument("--calls", type=int, default=31)
    parser.add_argument("--memory-calls", type=int, default=1500)
    parser.add_argument("--serve-empty-page", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_empty_page:
        serve_empty_page()
        return
    empty_page = ("-m", "bench.page", "--serve-empty-page")
    with served(*empty_page) as empty, served("-m", "tests.serve") as app:
        print("| | gpusizer | the least Gradio does | times |\n|---|---:|---:|---:|")
        compare_first_fields(empty, app, options.visits)
        compare_answers(empty, app, options.calls)
        compare_memory(empty, app, options.memory_calls)


def compare_first_fields(empty: Server, app: Server, visits: int) -> None:
    """Print the seconds from navigation to the first visible field of Gradio."""
    with chromium() as browser:
        measures = {
            "gpusizer": lambda: seconds_to_field(browser, app.address),
            "least": lambda: seconds_to_field(browser, empty.address),
        }
        _print_row("first field, s", medians(measures, visits, warm_up=1), 3)


def compare_answers(empty: Server, app: Server, calls: int) -> None:
    """Print the milliseconds of a repeated answer, and of an echo of the same JSON."""
    answer = app.call("size_model", model=MODEL)
    measures = {
        "gpusizer": _stopwatch(lambda: app.call("size_model", model=MODEL)),
        "least": _stopwatch(lambda: empty.call("echo", value=answer)),
    }
    kilobytes = len(json.dumps(answer)) / 1000
    name = f"repeated answer of {kilobytes:.0f} KB over HTTP, ms"
    seconds = medians(measures, calls, warm_up=_WARM_UP)
    _print_row(name, {side: value * 1000 for side, value in seconds.items()}, 1)


def compare_memory(empty: Server, app: Server, calls: int) -> None:
    """Print the megabytes of memory that a process gains with one call over HTTP."""
    megabytes = {
        "gpusizer": _megabytes_per_call(app, lambda: app.call("list_gpus", query="4090"), calls),
        "least": _megabytes_per_call(empty, lambda: empty.call("echo", value="4090"), calls),
    }
    _print_row(f"memory per call over {calls:,} calls, MB", megabytes, 4)


def _megabytes_per_call(server: Server, call: Callable[[], Any], calls: int) -> float:
    for _ in range(_WARM_UP):
        call()
    before_bytes = server.resident_bytes()
    for _ in range(calls):
        call()
    return (server.resident_bytes() - before_bytes) / calls / 1e6


def _print_row(name: str, values: Mapping[str, float], digits: int) -> None:
    ours, empty = values["gpusizer"], values["least"]
    print(f"| {name} | {ours:.{digits}f} | {empty:.{digits}f} | {ours / empty:.2f} |", flush=True)


def _stopwatch(call: Callable[[], Any]) -> Callable[[], float]:
    def seconds() -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return seconds


def medians(
    measures: Mapping[str, Callable[[], float]], runs: int, *, warm_up: int
) -> dict[str, float]:
    """Return the median of each measure, alternating; the first `warm_up` turns do not count."""
    values: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(-warm_up, runs):
        for name, measure in measures.items():
            value = measure()
            if turn >= 0:
                values[name].append(value)
    return {name: statistics.median(of) for name, of in values.items()}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium under Playwright."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if path is None:
        raise SystemExit("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_CHROMIUM_FLAGS))
        yield browser
        browser.close()


def seconds_to_field(browser: Browser, address: str) -> float:
    """Measure from navigation to the first visible field, with an empty cache."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address, wait_until="commit")
    milliseconds: float = page.evaluate(_WAIT_FOR_FIELD)
    context.close()
    return milliseconds / 1000


@contextmanager
def served(*arguments: str) -> Iterator[Server]:
    """Run `python ARGUMENTS` as a process; it prints its URL once it serves."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=DATA_DIR.parent,
            env={
                **os.environ,
                "GRADIO_TEMP_DIR": folder,
                "HF_HUB_OFFLINE": "1",
                "GPUSIZER_QUESTIONS_PER_MINUTE": "off",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process:
            assert process.stdout
            try:
                lines = (line.strip() for line in process.stdout)
                address = next((line for line in lines if line.startswith("http")), "")
                if not address:
                    raise RuntimeError(f"{' '.join(arguments)} did not start")
                yield Server(address.rstrip("/") + "/", process.pid)
            finally:
                process.terminate()


def echo(value: Any) -> Any:
    """Return the value that was sent."""
    return value


def serve_empty_page() -> None:
    """Serve one text field and an endpoint that does nothing, in the application's theme."""
    blocks: gr.Blocks
    with gr.Blocks(title="empty") as blocks:
        api(echo, api_name="echo", concurrency_limit=8)
        gr.Textbox(label="empty")
    options = {name: page_options()[name] for name in ("theme", "ssr_mode", "run_history")}
    print(blocks.launch(prevent_thread_lock=True, quiet=True, **options)[1], flush=True)
    blocks.block_thread()


if __name__ == "__main__":
    main()
