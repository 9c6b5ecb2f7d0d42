"""What reading a model costs, next to other clients and to hand-written lower bounds.

    python -m bench.scraping [--hf-mem PYTHON] [--latency MS …] [--runs N]

All clients read the same emulated Hub, which runs in a process of its own and adds a
latency to every request. `--hf-mem` names the interpreter of an environment with
`pip install hf-mem==0.5.6`; without it hf-mem is left out. Prints medians. Requests, bytes
and round trips are counted in a run of their own, so far from the Hub that what is asked at
once overlaps.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import floors
from bench.clients import (
    Client,
    hf_mem_process,
    hub_client,
    our_process,
    ours,
    ours_at_revision,
)
from bench.hub_process import HubProcess, Traffic
from gpusizer.startup import collect_rarely

_COUNTING_LATENCY = 0.4
_COUNTED: dict[tuple[str, str], Traffic] = {}

MODELS = ("llama-1shard", "llama-4shard", "llama-30shard", "moe-671B-163shard", "gguf-25files")


@dataclass(frozen=True, slots=True)
class Row:
    """One client on one model at one latency; the ratio is to the client named `beside`."""

    client: str
    seconds: float
    traffic: Traffic
    beside: str | None = None


def main() -> None:
    """Print one table per latency and model."""
    parser = argparse.ArgumentParser(prog="python -m bench.scraping")
    parser.add_argument("--hf-mem", type=Path, help="interpreter that has hf-mem")
    parser.add_argument("--latency", type=float, nargs="*", default=[0, 30, 100], help="ms")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--models", nargs="*", default=MODELS)
    arguments = parser.parse_args()
    if arguments.hf_mem is None:
        print("hf-mem: left out, no --hf-mem\n")
    collect_rarely()
    with HubProcess() as hub:
        for latency in arguments.latency:
            for model in arguments.models:
                print(f"**{model}, {latency:g} ms**\n\n{_HEAD}")
                rows: dict[str, Row] = {}
                for name, client, beside in clients(model, arguments.hf_mem):
                    rows[name] = measured(hub, name, client, beside, model, latency, arguments.runs)
                    print(line(rows[name], rows), flush=True)
                print()


def clients(model: str, hf_mem: Path | None) -> Iterator[tuple[str, Client, str | None]]:
    """Name, client, and the earlier row that it is compared with."""
    if model.startswith("gguf"):
        yield "floor, one header", floors.gguf_file, None
        yield "gpusizer, in process", ours, "floor, one header"
        yield from _processes(hf_mem)
        return
    single = model == "llama-1shard"
    floor = "floor, 2 round trips"
    yield floor, floors.single_file if single else floors.one_answer, None
    yield "gpusizer, in process", ours, floor
    if not single:
        yield "floor by ranges, 3 round trips", floors.by_ranges, None
        yield "gpusizer by ranges", ours_at_revision, "floor by ranges, 3 round trips"
    yield "huggingface_hub get_safetensors_metadata", hub_client, "gpusizer, in process"
    yield from _processes(hf_mem)


def _processes(hf_mem: Path | None) -> Iterator[tuple[str, Client, str | None]]:
    """Command lines, start of the interpreter included."""
    yield "python -m gpusizer size", our_process, None
    if hf_mem is not None:
        yield "hf-mem, process", hf_mem_process(hf_mem), "python -m gpusizer size"


def measured(
    hub: HubProcess,
    name: str,
    client: Client,
    beside: str | None,
    model: str,
    latency_ms: float,
    runs: int,
) -> Row:
    """The median of a few runs."""
    repo_id = f"synth/{model}"
    if (name, model) not in _COUNTED:
        hub.reset(latency=0.0)
        client(hub.endpoint, repo_id)  # imports, and what the emulator makes once
        hub.reset(latency=_COUNTING_LATENCY)
        client(hub.endpoint, repo_id)
        _COUNTED[name, model] = hub.traffic()
    seconds = []
    for _ in range(runs):
        hub.reset(latency=latency_ms / 1000)
        started = time.perf_counter()
        client(hub.endpoint, repo_id)
        seconds.append(time.perf_counter() - started)
    return Row(name, statistics.median(seconds), _COUNTED[name, model], beside)


_HEAD = "| client | requests | MB | round trips | seconds | times |\n|---|---:|---:|---:|---:|---:|"


def line(row: Row, rows: dict[str, Row]) -> str:
    """One line of the table."""
    traffic = row.traffic
    ratio = "" if row.beside is None else f"{row.seconds / rows[row.beside].seconds:.2f}"
    return (
        f"| {row.client} | {traffic.requests} | {traffic.body_bytes / 1e6:.2f} |"
        f" {traffic.round_trips} | {row.seconds:.3f} | {ratio} |"
    )


if __name__ == "__main__":
    main()
