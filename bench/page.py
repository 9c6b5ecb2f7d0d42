"""What the application costs beside the least that Gradio serves: its first page, an answer.

    python -m bench.page [--visits N] [--calls N]

The application serves the embedded models, the least is `bench.empty_app`; each is a process
of its own on this machine. Visits are Chromium's, each in a window that has cached nothing;
calls repeat one request, so that nothing has to be read. What is compared takes turns.
Prints medians and ratios, and every request of a first visit to another host.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import requests
from gradio_client import Client

from bench.first_load import Load, chromium, counted, seconds_to_fields
from bench.served import served

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
PAGE_TARGET = 1.3
ANSWER_TARGET = 2.0
_TIMEOUT = 30
_WARM_UP = 3

Call = Callable[[], Any]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.page")
    parser.add_argument("--visits", type=int, default=7)
    parser.add_argument("--calls", type=int, default=31)
    arguments = parser.parse_args()
    with served("bench.empty_app") as empty, served("tests.serve") as app:
        _pages(empty, app, arguments.visits)
        _answers(empty, app, arguments.calls)


def _pages(empty: str, app: str, visits: int) -> None:
    addresses = {"empty Gradio page": empty, "gpusizer": app}
    with chromium() as browser:
        loads = {name: counted(browser, address) for name, address in addresses.items()}
        seconds = _visited(browser, addresses, visits)
    print(f"first visible field, target {PAGE_TARGET:g} times\n")
    print(
        "| page | requests | KB | other hosts | first field, s | times | Gradio's own, s | times |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    floor = seconds["empty Gradio page"]
    for name, load in loads.items():
        print(_page_line(name, load, seconds[name], floor))
    for name, load in loads.items():
        for url in load.outside:
            print(f"\n{name} asked {url}")


def _visited(
    browser: Any, addresses: Mapping[str, str], visits: int
) -> dict[str, tuple[float, float]]:
    """Median seconds to the first field and to Gradio's own, of visits in turns."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in addresses}
    for turn in range(-1, visits):
        for name, address in addresses.items():
            both = seconds_to_fields(browser, address)
            if turn >= 0:
                seconds[name].append(both)
    return {
        name: (statistics.median(one for one, _ in of), statistics.median(own for _, own in of))
        for name, of in seconds.items()
    }


def _page_line(
    name: str, load: Load, seconds: tuple[float, float], floor: tuple[float, float]
) -> str:
    times = (f"{own:.3f} | {own / least:.2f}" for own, least in zip(seconds, floor, strict=True))
    counts = f"{load.requests} | {load.transferred / 1000:.0f} | {len(load.outside)}"
    return f"| {name} | {counts} | {' | '.join(times)} |"


def _answers(empty: str, app: str, runs: int) -> None:
    size = len(json.dumps(by_http(requests.Session(), app, "size_model", model=MODEL)))
    print(f"\na repeated answer of {size / 1000:.0f} KB, target {ANSWER_TARGET:g} times\n")
    print("| by | endpoint | ms | times |\n|---|---|---:|---:|")
    for way, calls in (("HTTP", _http_calls), ("gradio_client", _client_calls)):
        found = medians(timed(calls(empty, app)), runs, warm_up=_WARM_UP)
        ours = found["size_model"]
        for name, seconds in found.items():
            ratio = "" if name == "size_model" else f"{ours / seconds:.2f}"
            print(f"| {way} | {name} | {seconds * 1000:.1f} | {ratio} |")


def _http_calls(empty: str, app: str) -> dict[str, Call]:
    session = requests.Session()
    payload = by_http(session, app, "size_model", model=MODEL)
    by_http(session, empty, "keep", value=payload)
    return {
        "size_model": lambda: by_http(session, app, "size_model", model=MODEL),
        "echo of as much": lambda: by_http(session, empty, "echo", value=payload),
        "as much, sent nothing": lambda: by_http(session, empty, "kept", word="word"),
        "echo of a word": lambda: by_http(session, empty, "echo", value="word"),
    }


def _client_calls(empty: str, app: str) -> dict[str, Call]:
    ours, least = Client(app, verbose=False), Client(empty, verbose=False)
    payload = ours.predict(MODEL, api_name="/size_model")
    least.predict(payload, api_name="/keep")
    return {
        "size_model": lambda: ours.predict(MODEL, api_name="/size_model"),
        "echo of as much": lambda: least.predict(payload, api_name="/echo"),
        "as much, sent nothing": lambda: least.predict("word", api_name="/kept"),
        "echo of a word": lambda: least.predict("word", api_name="/echo"),
    }


def by_http(session: requests.Session, address: str, endpoint: str, **named: Any) -> Any:
    """One call as `curl` makes it: the event, then its stream to the end."""
    calls = f"{address}gradio_api/call"
    posted = session.post(f"{calls}/v2/{endpoint}", json=named, timeout=_TIMEOUT)
    stream = session.get(f"{calls}/{endpoint}/{posted.json()['event_id']}", timeout=_TIMEOUT).text
    kind, _, data = stream.strip().rpartition("\n")
    if "event: complete" not in kind:
        raise RuntimeError(f"{endpoint}: {stream[:200]}")
    return json.loads(data.removeprefix("data: "))[0]


def timed(calls: Mapping[str, Call]) -> dict[str, Callable[[], float]]:
    """The same calls, each telling how many seconds it took."""

    def stopwatch(call: Call) -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return {name: partial(stopwatch, call) for name, call in calls.items()}


def medians(
    measured: Mapping[str, Callable[[], float]], runs: int, *, warm_up: int
) -> dict[str, float]:
    """Median seconds of each, taken in turns; the first few of each do not count."""
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for turn in range(-warm_up, runs):
        for name, measure in measured.items():
            taken = measure()
            if turn >= 0:
                seconds[name].append(taken)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


if __name__ == "__main__":
    main()
