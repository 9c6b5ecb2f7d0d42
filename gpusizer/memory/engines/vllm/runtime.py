"""Memory under vLLM outside its tensors: communicators, the context, the host's share."""

from __future__ import annotations

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.version_defaults import (
    A100_CLASS,
    BIG_CLASS,
    UNIFIED,
    is_pcie,
    is_rocm,
    is_xpu,
)

_CONTEXT_BYTES = (0.40 * GIB, 0.51 * GIB, 0.70 * GIB)
_ROCM_CODE = (0.2 * GIB, 0.5 * GIB, 1.0 * GIB)
_XPU_RUNTIME = (1.0 * GIB, 1.5 * GIB, 1.7 * GIB)
_UNIFIED_HOST = (2.0 * GIB, 3.7 * GIB, 5.5 * GIB)


def non_torch_bytes(split: Split, card: int, release: VllmRelease) -> float:
    """Return growth in bytes of memory outside PyTorch: the communicators' buffers."""
    if split.ranks == 1:
        return release.alone if split.pipeline == 1 else release.alone * 0.3
    # Buffers for NVLink (all-reduce in symmetric memory, `custom_all_reduce.py`) need peers; those
    # of NCCL's NVLS also need Hopper's switches (NCCL, NCCL_NVLS_ENABLE): two and four A100 under
    # 0.10 grew by 0.06 to 0.09 GiB, as if on PCIe.
    switched = card >= (A100_CLASS if release.profiles_whole_prompts else BIG_CLASS)
    return release.nvlink if switched and not (is_pcie(card) or is_xpu(card)) else release.pcie


def beside_bytes(card: int) -> Amount:
    """Return bytes of other memory outside PyTorch on one GPU, by the class of the card."""
    # HIP loads its libraries' kernels when they are first called, which is after vLLM's first
    # reading of free memory. Level Zero holds its own on the device, and start-up counts all that
    # is gone since that reading (`total_consumed`, vllm/v1/worker/gpu_worker.py, which Intel's
    # worker inherits): about 1.5 GiB.
    if is_rocm(card) or is_xpu(card):
        return fitted(*(_ROCM_CODE if is_rocm(card) else _XPU_RUNTIME))
    # If CPU and GPU share memory, "free" is what the system has available, so the host's own growth
    # while it loads and compiles counts too (vllm/utils/mem_utils.py, `MemorySnapshot`): 2.0, 3.7,
    # 4.0 and 5.0 GiB in four logs of the GB10.
    return fitted(*_UNIFIED_HOST) if card == UNIFIED else fitted(0, 0, 0)


def context_bytes() -> Amount:
    """Return bytes of the CUDA context, in use before vLLM reads free memory."""
    # The context is left out of the engine's budget.
    return fitted(*_CONTEXT_BYTES)
