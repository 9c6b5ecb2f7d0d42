"""vLLM's own defaults, by version and card."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Placement
from gpusizer.memory.engines.vllm.releases import VllmRelease

# An A100 of either size: a large card that keeps the defaults of small ones, with NVLink.
A100_CLASS = 39 * GIB
BIG_CLASS = 70 * GIB
HUGE_CLASS = 160 * GIB
_BY_MEMORY = (0, BIG_CLASS, HUGE_CLASS)

# The GB10, whose memory is the system's. NVIDIA's management library does not know its size, so
# vLLM takes it for a small card (`get_batch_defaults`); free memory is what the system has free.
UNIFIED = 1
ROCM = 2  # added to the class of an AMD card
PCIE = 4  # added to the class of a large NVIDIA card that no fabric joins to others
XPU = 8  # added to the class of an Intel card
DEVICE_CLASSES = (
    0,
    UNIFIED,
    ROCM,
    XPU,
    A100_CLASS,
    BIG_CLASS,
    BIG_CLASS + ROCM,
    BIG_CLASS + PCIE,
    BIG_CLASS + XPU,
    HUGE_CLASS,
    HUGE_CLASS + ROCM,
)

_BY_STACK = {"ROCm": ROCM, "oneAPI": XPU}
_UNIFIED_NAMES = re.compile(r"\b(GB10|DGX Spark)\b", re.IGNORECASE)
_STEP_TOKENS = {0: 2048, A100_CLASS: 2048, BIG_CLASS: 8192, HUGE_CLASS: 8192}
_HUGE_STEP_TOKENS = 16384  # pull request 51726
_HUGE_SINCE = (0, 28, 0)
_SEQUENCES = {0: 256, A100_CLASS: 256, BIG_CLASS: 1024, HUGE_CLASS: 1024}
_V0_SEQUENCES = 256
_V0_CHUNKED_BEYOND = 32768  # V0 splits prompts where sequences may be longer than this
_V0_CHUNK = 2048


def device_class(memory_bytes: int, name: str, stack: str, *, fabric: bool = True) -> int:
    """Return the class of a card by its memory."""
    # A100, GB10, cards of AMD and Intel and large ones without NVLink have classes of their own.
    if "a100" in name.lower() and memory_bytes >= 0.95 * A100_CLASS:
        return A100_CLASS
    if is_unified(name, stack):
        return UNIFIED
    by_memory = max(size for size in _BY_MEMORY if size <= memory_bytes)
    if by_memory == BIG_CLASS and stack == "CUDA" and not fabric:
        return BIG_CLASS + PCIE
    return by_memory + _BY_STACK.get(stack, 0)


@lru_cache(maxsize=1024)
def is_unified(name: str, stack: str) -> bool:
    """Return whether a card's memory is the system's, under CUDA."""
    return stack == "CUDA" and _UNIFIED_NAMES.search(name) is not None


def is_rocm(card: int) -> bool:
    """Return whether a class is one of AMD's cards."""
    return card % GIB == ROCM


def is_xpu(card: int) -> bool:
    """Return whether a class is one of Intel's cards."""
    return card % GIB == XPU


def is_pcie(card: int) -> bool:
    """Return whether a class is that of large cards that only PCIe joins."""
    return card % GIB == PCIE


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of one step of the scheduler."""

    tokens: int  # tokens of all sequences together
    sequences: int  # sequences in flight of one data-parallel rank
    samples: bool  # start-up measures the sampler (V0 with chunked prefill does not)


def limits_of(placement: Placement, release: VllmRelease) -> BatchLimits:
    """Return the requested limits of the scheduler, else this version's defaults on this card."""
    # Each data-parallel rank has a scheduler of its own, and its part of the users (docs.vllm.ai,
    # "Data Parallel Deployment").
    workload, users = placement.workload, placement.users_each
    if release.profiles_whole_prompts:
        sequences = workload.max_num_seqs or max(_V0_SEQUENCES, users)
        chunked = workload.context > _V0_CHUNKED_BEYOND
        tokens = _V0_CHUNK if chunked else max(_V0_CHUNK, workload.context)
        return BatchLimits(workload.max_num_batched_tokens or tokens, sequences, not chunked)
    card = placement.device_class - placement.device_class % GIB
    tokens = _STEP_TOKENS[card]
    if card == HUGE_CLASS and release.since >= _HUGE_SINCE:
        tokens = _HUGE_STEP_TOKENS
    if placement.arch is not None and not placement.arch.generates:
        tokens = max(tokens, workload.context)
    sequences = workload.max_num_seqs or max(_SEQUENCES[card], users)
    return BatchLimits(workload.max_num_batched_tokens or tokens, sequences, True)


def in_flight_tokens(placement: Placement, release: VllmRelease) -> int:
    """Return tokens beyond a sliding window that each sequence is charged for."""
    tokens, stages = limits_of(placement, release).tokens, placement.split.pipeline
    # A step's until pull request 47728, which keeps blocks until their batch is processed; then
    # those of every batch in flight: two under asynchronous scheduling, or one more than pipeline
    # stages under Model Runner V2 (`max_concurrent_batches`, vllm/config/vllm.py). For Gemma-4-31B
    # with 262,144 tokens and steps of 32,768 it is 70.79 GiB instead of 45.79 (issue 49878).
    if not release.charges_in_flight:
        return tokens
    return tokens * (stages + 1 if release.runs_second(placement.profile) else max(2, stages))
