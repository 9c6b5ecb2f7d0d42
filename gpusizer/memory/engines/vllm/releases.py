"""Rules of vLLM by version: one row of `data/vllm_eras.csv` for each version that changed them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GIB
from gpusizer.model.profile import ModelProfile

CURRENT = "0.30"  # version that numbers describe if the request names none

_NUMBER = re.compile(r"(?<![\d.])(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?")
_LAST_V0 = (0, 11, 0)  # the first generation's scheduler was removed in 0.11


@dataclass(frozen=True, slots=True)
class VllmRelease:
    """Rules of a range of versions. Amounts are bytes of one GPU."""

    since: tuple[int, int, int]  # first version, as numbers
    generation: str  # scheduler, "V0" or "V1"
    utilization: float  # default share of the card
    sorts: bool  # PyTorch sorts the logits for top-k and top-p unless FlashInfer samples
    keeps_workspace: bool  # the experts' workspace stays allocated while sampling
    latent: str  # cached form of an MLA latent: "expanded" per head, "padded" to 128s, or "exact"
    grouped_pages: bool  # layers of unequal kinds share pages in groups; else all grow alike
    # Steps captured as CUDA graphs: "decode" steps whole, any step in "piecewise", or "both".
    graphs: str
    graph_step: int  # tokens between the sizes of graphs beyond 256
    # Models whose estimated graphs are subtracted from the budget: "all", "none", or those that the
    # "first" model runner runs.
    graphs_budgeted: str
    charges_warmup: bool  # buffers of gated delta rules for a whole step count as graphs
    charges_in_flight: bool  # a sliding window is charged for every batch in flight, not for one
    caches_prefixes: bool  # prefixes are cached by default for models with recurrent layers, too
    # Models that Model Runner V2 runs: "none", "all", model types, "dense" for those without
    # experts and recurrent layers, "unquantized" to exclude packed weights.
    second_runner: tuple[str, ...]
    # alone, pcie, nvlink: growth of memory outside PyTorch on one GPU, and per GPU of several.
    alone: float
    pcie: float
    nvlink: float

    @property
    def family(self) -> str:
        """Versions whose predictions err alike: those of one scheduler and sampler."""
        if self.generation == "V0":
            return "V0"
        return "V1 to 0.16" if self.sorts else "V1"

    def runs_second(self, profile: ModelProfile) -> bool:
        """Return whether Model Runner V2 runs a model."""
        # `VllmConfig.use_v2_model_runner`, and `_is_default_v2_model_runner_model` before 0.29;
        # vllm/config/vllm.py.
        arch, named = profile.architecture, self.second_runner
        if arch is None or "none" in named or "all" in named:
            return "all" in named
        packed = profile.quantization is not None and "unquantized" in named
        recurrent = any(run.layer.state for run in arch.layer_plan)
        if packed or recurrent or not arch.generates:
            return False
        return arch.model_type in named or ("dense" in named and not arch.experts)

    def budgets_graphs(self, profile: ModelProfile) -> bool:
        """Return whether a model's estimated CUDA graphs are subtracted from the budget."""
        # Model Runner V2 estimates none before pull request 53306.
        if self.graphs_budgeted == "first":
            return not self.runs_second(profile)
        return self.graphs_budgeted == "all"

    @property
    def profiles_whole_prompts(self) -> bool:
        """Whether a prompt is one step, which start-up then measures (no chunked prefill)."""
        return self.generation == "V0"


_CACHES_HONOURED = {
    "modelopt": (0, 14, 0),  # pull request 29980
    "compressed-tensors": (0, 15, 0),  # pull request 30141
}


def caches_honoured(version: str | None) -> tuple[str, ...]:
    """Return tools whose FP8 cache flag `--kv-cache-dtype auto` obeys at a version."""
    if vllm_release(version).profiles_whole_prompts:
        return ()
    number = _number_of(version)
    return tuple(
        tool for tool, since in _CACHES_HONOURED.items() if number is None or number >= since
    )


# Issue 20305 and pull request 1560 of vllm-project/llm-compressor name 0.9.1 as the first release
# that refuses; 0.8 has no such check in gpu_worker.py.
_FREE_MEMORY_CHECKED = (0, 9, 1)
# Pull request 21489, merged in the summer of 2025; releases of before 0.11 are not told it.
_CACHE_BYTES_TAKEN = (0, 11, 0)
_RUNNER_TAKEN = (0, 10, 1)  # pull request 21470 of July 2025, after 0.10.0

# 0.11.0 of the start of October 2025 lacks it: issue 26858 of two weeks later asks for it, pull
# request 27621 of the end of that month adds it. Which release has it first is not told.
_OFFLOADING_SIZE_TAKEN = (0, 11, 1)


def checks_free_memory(version: str | None) -> bool:
    """Return whether start-up refuses a share of the total that exceeds free memory."""
    if vllm_release(version).profiles_whole_prompts:
        return False
    number = _number_of(version)
    return number is None or number >= _FREE_MEMORY_CHECKED


def takes_cache_bytes(version: str | None) -> bool:
    """Return whether `--kv-cache-memory-bytes` fixes the cache, whatever else loads meanwhile."""
    number = _number_of(version)
    return number is None or number >= _CACHE_BYTES_TAKEN


def is_newer(version: str | None, last: str) -> bool:
    """Return whether a version comes after the release `last`; no version means the current one."""
    number, known = _number_of(version), _number_of(last)
    if number is None or known is None:
        return vllm_release(version).generation != "V0"
    return number > known


def takes_runner(version: str | None) -> bool:
    """Return whether `--runner` says what a model is for, and not `--task`."""
    number = _number_of(version)
    return number is None or number >= _RUNNER_TAKEN


def takes_offloading_size(version: str | None) -> bool:
    """Return whether `--kv-offloading-size` keeps the cache of earlier prompts in system memory."""
    if vllm_release(version).profiles_whole_prompts:
        return False
    number = _number_of(version)
    return number is None or number >= _OFFLOADING_SIZE_TAKEN


def _number_of(version: str | None) -> tuple[int, int, int] | None:
    match = _NUMBER.search(version or "")
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


@lru_cache(maxsize=64)
def vllm_release(version: str | None) -> VllmRelease:
    """Return the rules of a version such as "0.8.5", "v0.19.0rc1", "V0" or "0.8.5 V0".

    A text without a version means the current one.
    """
    text = version or ""
    number = _number_of(version)
    first_scheduler = re.search(r"\bV0\b(?!\.)", text) is not None
    # From 0.8 to 0.11 both schedulers existed; V1 is meant unless the text names "V0".
    if first_scheduler and (number is None or number <= _LAST_V0):
        releases = [release for release in all_releases() if release.generation == "V0"]
    else:
        releases = list(all_releases())
    if number is None:
        return releases[-1]
    return next((release for release in reversed(releases) if release.since <= number), releases[0])


@cache
def all_releases() -> tuple[VllmRelease, ...]:
    """Return every row of the table, oldest first."""
    return read_table(DATA_DIR / "vllm_eras.csv", _era)


def _era(row: TableRow) -> VllmRelease:
    major, minor, patch = map(int, row.text("since").split("."))
    return row.record(
        VllmRelease,
        since=(major, minor, patch),
        graphs=row.one_of("graphs", ("decode", "piecewise", "both")),
        graphs_budgeted=row.one_of("graphs_budgeted", ("all", "none", "first")),
        second_runner=row.parts("second_runner"),
        alone=row.number("alone_gib") * GIB,
        pcie=row.number("pcie_gib") * GIB,
        nvlink=row.number("nvlink_gib") * GIB,
    )
