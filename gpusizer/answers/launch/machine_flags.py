"""Switches of llama-server for a way on a described machine, in their short spelling."""

from __future__ import annotations

from gpusizer.fit.way import Way
from gpusizer.memory.kv_cache import llama_cpp_types
from gpusizer.memory.workload import Workload


def machine_flags(workload: Workload, way: Way) -> tuple[str, ...]:
    """Switches of llama-server, none for other engines: -c is for all sequences together.

    Options: tools/server/README.md of ggml-org/llama.cpp.
    """
    if not way.estimate.engine.abilities.offloads:
        return ()
    words = ["-c", str(workload.context * workload.concurrency)]
    if workload.concurrency > 1:
        words += ["-np", str(workload.concurrency)]
    words += [*_placement(workload, way), *_cache(workload)]
    if not workload.flash_attention:
        words += ["-fa", "off"]
    for switch, size in (("-b", workload.batch_size), ("-ub", workload.ubatch_size)):
        words += [switch, str(size)] if size else []
    return tuple(words)


def _placement(workload: Workload, way: Way) -> list[str]:
    """Layers on the devices, how they are dealt out, and experts in system memory."""
    if way.arranged is None:
        return ["-ngl", "all" if workload.gpu_layers is None else str(workload.gpu_layers)]
    how = way.arranged.how
    words = ["-ngl", str(how.gpu_layers)]
    if how.gpu_layers and len(way.machine.gpus) > 1 and not way.arranged.default:
        words += ["-ts", ",".join(map(str, how.split))]
    if how.cpu_experts:
        words += ["--n-cpu-moe", str(how.cpu_experts)]
    return words


def _cache(workload: Workload) -> list[str]:
    types = llama_cpp_types(workload.kv_dtype)
    if types is None or types == ("f16", "f16"):
        return []
    return ["-ctk", types[0], "-ctv", types[1]]
