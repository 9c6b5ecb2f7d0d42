"""How long ranking the whole catalogue at every quantization takes, in process.

    python -m bench.ranking

Prints the median of repeated runs for models of different kinds, the share of the 50 ms
budget, and for how many GPUs a way was found. Times only; the tests check the answers.
"""

from __future__ import annotations

import statistics
import time

from gpusizer.choosing import choose
from gpusizer.fit import Fitter
from gpusizer.gpus import load_catalogue
from gpusizer.paths import DATA_DIR
from gpusizer.profile import build_profile
from gpusizer.ranking import rank_gpus
from gpusizer.selection import select_quants
from gpusizer.workload import Workload
from scrapers.embedded import EmbeddedSnapshots

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
    embedded = EmbeddedSnapshots(DATA_DIR / "models")
    print(f"{len(catalogue.gpus)} GPUs, budget {BUDGET_SECONDS * 1000:.0f} ms, {RUNS} runs each\n")
    print(f"{'model':34} {'GPUs':>5} {'median ms':>10} {'of budget':>10}")
    for repo_id in MODELS:
        snapshot = embedded.get(repo_id)
        if snapshot is None:
            raise SystemExit(f"{repo_id} is not embedded")
        profile = build_profile(snapshot)
        quants = select_quants(("all",), profile).shown
        seconds = []
        for _ in range(RUNS):
            start = time.perf_counter()
            fitter = Fitter(profile, Workload(), quants)
            rank_gpus(fitter, catalogue, "smallest", 20)
            seconds.append(time.perf_counter() - start)
        found = len(choose(Fitter(profile, Workload(), quants), catalogue))
        median = statistics.median(seconds)
        print(f"{repo_id:34} {found:>5} {median * 1000:>10.1f} {median / BUDGET_SECONDS:>9.0%}")


if __name__ == "__main__":
    main()
