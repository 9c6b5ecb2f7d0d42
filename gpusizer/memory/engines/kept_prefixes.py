"""System memory in which serving engines keep the KV cache of earlier prompts."""

from __future__ import annotations

from gpusizer.core.units import GB, GIB
from gpusizer.memory.engines.abilities import PrefixMemory
from gpusizer.memory.engines.base import Split
from gpusizer.memory.workload import Workload


def offloading_gib(workload: Workload, split: Split) -> float:
    """Return vLLM's `--kv-offloading-size`, in GiB; 0 without one."""
    # "The total buffer size summed across all TP ranks" (`kv_offloading_size`, vllm/config/cache.py
    # of 0.30). Blocks are counted as that size over the bytes of a block on tensor x pipeline ranks
    # (vllm/v1/kv_offload/cpu/spec.py), so each data-parallel copy has a buffer of its own.
    return workload.kv_offload_gb / split.data


def hicache_gb(workload: Workload, split: Split) -> int:
    """Return SGLang's `--hicache-size`, in whole GB of each rank; 0 without one."""
    # Each rank pins `host_size * 1e9 // size_per_token` tokens (`HostKVCache`,
    # srt/mem_cache/pool_host/base.py of 0.5); 0 would mean a multiple of the cache on the GPU.
    if not workload.kv_offload_gb:
        return 0
    return max(1, int(workload.kv_offload_gb * GIB / split.gpus // GB))


def prefix_bytes(kind: PrefixMemory, workload: Workload, split: Split) -> int:
    """Return the bytes that all ranks pin in system memory."""
    if kind == "all_ranks":
        return round(offloading_gib(workload, split) * split.data * GIB)
    return hicache_gb(workload, split) * GB * split.gpus if kind == "each_rank" else 0
