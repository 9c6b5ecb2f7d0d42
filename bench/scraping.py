"""Measures the time of reading a model, compared with hf-mem.

    python -m bench.scraping --hf-mem ENV/bin/python [--runs N]

ENV is an environment with `pip install hf-mem==0.5.6`. Both read the same synthetic repositories
from an emulated Hub on loopback, which runs in its own process and adds a latency to every request.
A command is timed as a process, `python -m gpusizer size` with an empty cache. Prints medians; on a
shared machine only the ratios are meaningful. `tests/scrapers` hold requests and round trips.
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
from tests.hub_emulator import FakeRepo, llama_repo, moe_repo

ONE_SHARD = "synth/llama-1shard"
MANY_SHARDS = "synth/moe-671B-163shard"

# hf-mem has a fixed URL of the Hub: this program replaces it in hf-mem's own process.
# program for hf-mem's interpreter; its arguments are an endpoint and hf-mem's options
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model for both commands."""

    title: str
    model: str
    latency_seconds: float
    least_ratio: float  # least speed of gpusizer relative to hf-mem


COMPARISONS = (
    Comparison("one shard", ONE_SHARD, 0.0, 1 / 1.5),
    Comparison("one shard", ONE_SHARD, 0.1, 1 / 1.5),
    Comparison("163 shards, `main`", MANY_SHARDS, 0.1, 8.0),
    Comparison("163 shards, by ranges", f"{MANY_SHARDS}@v1", 0.1, 3.0),
)


def main() -> None:
    """Print the table of seconds."""
    parser = argparse.ArgumentParser(prog="python -m bench.scraping")
    parser.add_argument("--hf-mem", type=Path, required=True, help="interpreter that has hf-mem")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("| model | latency, ms | gpusizer, s | hf-mem, s | times as fast | asked |")
    print("|---|---:|---:|---:|---:|---:|")
    with hub_process(synthetic_repos) as hub:
        for model in (ONE_SHARD, MANY_SHARDS):
            run_seconds(size_command(model), hub)  # files are built at the first request
        for case in COMPARISONS:
            hub.reset(case.latency_seconds)
            print(_row(case, hub, str(arguments.hf_mem), arguments.runs), flush=True)


def _row(case: Comparison, hub: Hub, hf_mem: str, runs: int) -> str:
    repo_id = case.model.partition("@")[0]  # hf-mem reads by ranges on every branch
    theirs = [hf_mem, "-c", HF_MEM, hub.endpoint, "--json-output", "--model-id", repo_id]
    commands = size_command(case.model), theirs
    timed: tuple[list[float], list[float]] = [], []
    for _ in range(runs):  # alternating, so that both see the same load of the machine
        for command, seconds in zip(commands, timed, strict=True):
            seconds.append(run_seconds(command, hub))
    own, others = map(statistics.median, timed)
    return (
        f"| {case.title} | {1000 * case.latency_seconds:.0f} | {own:.2f} | {others:.2f} |"
        f" {others / own:.2f} | {case.least_ratio:.2f} |"
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
    """Build a Llama of one shard and a model like DeepSeek-R1."""
    sizes = {"hidden": 4096, "intermediate": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
    expert = {"hidden": 7168, "expert_size": 2048, "heads": 128, "kv_heads": 128, "vocab": 129280}
    repos = [
        llama_repo(ONE_SHARD, layers=16, shards=1, **sizes),
        moe_repo(MANY_SHARDS, layers=61, experts=499, shards=163, **expert),
    ]
    for repo in repos:
        repo.revisions["v1"] = repo.sha
        repo.parameters = repo.counted_parameters() or None  # the Hub counts at the upload
    return repos


if __name__ == "__main__":
    main()
