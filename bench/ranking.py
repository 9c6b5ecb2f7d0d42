"""Measures the processor time of ranking the whole catalogue at every quantization.

    python -m bench.ranking

Prints the median of repeated runs for models of different kinds, the share of the 50 ms
budget, and the number of GPUs with a plan that fits. The tests check the answers themselves.
"""

from __future__ import annotations

import statistics
import time

from gpusizer.answers.requests.selection import select_quants
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.fit.ranking import rank_gpus, ways_to_rank
from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from scrapers.cache.stored import EmbeddedSnapshots

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "deepseek-ai/DeepSeek-R1",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-235B-A22B",
    "openai/gpt-oss-120b",
)
BUDGET_SECONDS = 0.050
RUNS = 15


def main() -> None:
    """Time every model and print a table."""
    catalogue = load_catalogue()
    embedded = EmbeddedSnapshots(SNAPSHOTS_DIR)
    print(f"{len(catalogue.gpus)} GPUs, budget {BUDGET_SECONDS * 1000:.0f} ms, {RUNS} runs each\n")
    print(f"{'model':34} {'GPUs':>5} {'median ms':>10} {'of budget':>10}")
    for repo_id in MODELS:
        snapshot = embedded.get(repo_id)
        if snapshot is None:
            raise SystemExit(f"{repo_id} is not embedded")
        profile = build_profile(snapshot)
        quants = select_quants(("all",), profile).rankable
        seconds = []
        for _ in range(RUNS):
            begun = time.process_time()
            rank_gpus(Study(profile, Workload(), quants), catalogue, "recommended", 20)
            seconds.append(time.process_time() - begun)
        ranked = len(ways_to_rank(Study(profile, Workload(), quants), catalogue))
        median = statistics.median(seconds)
        print(f"{repo_id:34} {ranked:>5} {median * 1000:>10.1f} {median / BUDGET_SECONDS:>9.0%}")


if __name__ == "__main__":
    main()
