"""Measures the cost of reading a model beside hf-mem, and the memory of the longest headers.

    python -m bench.scraping --hf-mem ENV/bin/python [--runs N]

ENV is an environment with `pip install hf-mem==0.5.6`; without it hf-mem is left out. Both read
the same synthetic repositories from an emulated Hub on loopback, which runs in its own process
and adds a latency to every request. A command is timed as a process, `python -m gpusizer size`
with an empty cache. Requests and round trips are counted at a latency of 400 ms, so that parallel
requests overlap. Prints medians; on a shared machine only the ratios are meaningful.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.emulated_hub import Hub, hub_process
from tests.hub_emulator import FakeRepo, HubEmulator, llama_repo, moe_repo
from tests.hub_emulator.gguf_models import gguf_repo
from tests.scrapers.long_headers import memory_of_reading, tagged_repo, usual_name

ONE_SHARD = "synth/llama-1shard"
MANY_SHARDS = "synth/moe-671B-163shard"
COUNTED = (
    ONE_SHARD,
    "synth/llama-4shard",
    "synth/llama-30shard",
    "synth/llama-30shard@v1",
    MANY_SHARDS,
    f"{MANY_SHARDS}@v1",
    "synth/gguf-2files",
)
COUNTING_SECONDS = 0.4
LONG_HEADERS, LONG_HEADER_BYTES = 31, 8_300_000

# hf-mem has a fixed URL of the Hub: this program replaces it in hf-mem's own process.
HF_MEM = """
import sys, httpx2
endpoint, *options = sys.argv[1:]
send = httpx2.AsyncClient.request
async def request(self, method, url, **kwargs):
    url = str(url).replace("https://huggingface.co", endpoint)
    return await send(self, method, url, **kwargs)
httpx2.AsyncClient.request = request
sys.argv = ["hf-mem", *options]
from hf_mem.cli import main
main()
"""
"""Program for hf-mem's interpreter; its arguments are an endpoint and hf-mem's options."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model for both commands; `least_ratio` is how much faster gpusizer has to be."""

    title: str
    model: str
    latency_seconds: float
    least_ratio: float


COMPARISONS = (
    Comparison("one shard", ONE_SHARD, 0.0, 1 / 1.5),
    Comparison("one shard", ONE_SHARD, 0.1, 1 / 1.5),
    Comparison("163 shards, `main`", MANY_SHARDS, 0.1, 8.0),
    Comparison("163 shards, by ranges", f"{MANY_SHARDS}@v1", 0.1, 3.0),
)


def main() -> None:
    """Print the tables of requests, seconds and memory."""
    parser = argparse.ArgumentParser(prog="python -m bench.scraping")
    parser.add_argument("--hf-mem", type=Path, help="interpreter that has hf-mem")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with hub_process(synthetic_repos) as hub:
        print("| model | requests | round trips | MB |\n|---|---:|---:|---:|")
        for model in COUNTED:
            run_seconds(size_command(model), hub)  # files are built at the first request
            hub.reset(COUNTING_SECONDS)
            run_seconds(size_command(model), hub)
            asked = hub.traffic()
            hub.reset()
            counts = f"{asked.requests} | {asked.round_trips} | {asked.body_bytes / 1e6:.2f}"
            print(f"| {model} | {counts} |", flush=True)
        if arguments.hf_mem is None:
            print("\nhf-mem: left out, no --hf-mem")
        else:
            _compare(hub, arguments.hf_mem, arguments.runs)
    with HubEmulator([tagged_repo(usual_name, LONG_HEADERS, LONG_HEADER_BYTES)]) as emulator:
        limit, megabytes = memory_of_reading(emulator)
    print(f"\n{LONG_HEADERS} headers of 8 MB: {megabytes:.0f} MB, ended by the limit of {limit}")


def _compare(hub: Hub, hf_mem: Path, runs: int) -> None:
    print("\n| model | latency, ms | gpusizer, s | hf-mem, s | times as fast | asked |")
    print("|---|---:|---:|---:|---:|---:|")
    for case in COMPARISONS:
        hf_mem_command = [str(hf_mem), "-c", HF_MEM, hub.endpoint, "--json-output", "--model-id"]
        repo_id = case.model.partition("@")[0]  # hf-mem reads by ranges on every branch
        commands = size_command(case.model), [*hf_mem_command, repo_id]
        hub.reset(case.latency_seconds)
        timed: tuple[list[float], list[float]] = [], []
        for _ in range(runs):  # alternating, so that both see the same load of the machine
            for command, seconds in zip(commands, timed, strict=True):
                seconds.append(run_seconds(command, hub))
        ours, theirs = map(statistics.median, timed)
        print(
            f"| {case.title} | {1000 * case.latency_seconds:.0f} | {ours:.2f} | {theirs:.2f} |"
            f" {theirs / ours:.2f} | {case.least_ratio:.2f} |",
            flush=True,
        )


def size_command(model: str) -> list[str]:
    """Return gpusizer's command, which computes memory, fit and ranking."""
    return [sys.executable, "-m", "gpusizer", "size", model, "--json"]


def run_seconds(command: Sequence[str], hub: Hub) -> float:
    """Return the seconds of a command as a process, including its start."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {
            "HF_ENDPOINT": hub.endpoint,
            "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
            "GPUSIZER_CACHE_DIR": cache,
        }
        started = time.perf_counter()
        process = subprocess.run(
            command,
            env={"PATH": "/usr/bin:/bin", "NO_PROXY": "*", **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )
        seconds = time.perf_counter() - started
    if process.returncode:
        raise RuntimeError(process.stderr[-500:])
    return seconds


def synthetic_repos() -> list[FakeRepo]:
    """Build Llamas of 1, 4 and 30 shards, a model like DeepSeek-R1, and two GGUF files."""
    sizes = {"hidden": 4096, "intermediate": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
    expert = {"hidden": 7168, "expert_size": 2048, "heads": 128, "kv_heads": 128, "vocab": 129280}
    repos = [
        llama_repo(ONE_SHARD, layers=16, shards=1, **sizes),
        llama_repo("synth/llama-4shard", layers=32, shards=4, **sizes),
        llama_repo("synth/llama-30shard", layers=80, shards=30, **sizes),
        moe_repo(MANY_SHARDS, layers=61, experts=499, shards=163, **expert),
        gguf_repo("synth/gguf-2files", ["Q4_K_M", "Q8_0"], vocab=128256, merges=280147),
    ]
    for repo in repos:
        repo.revisions["v1"] = repo.sha
        repo.parameters = repo.counted_parameters() or None  # the Hub counts at the upload
    return repos


if __name__ == "__main__":
    main()
