"""Memory under vLLM outside its tensors: CUDA graphs, communicators, the context."""

from __future__ import annotations

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.vllm.eras import Era
from gpusizer.memory.engines.vllm.version_defaults import (
    A100_CLASS,
    BIG_CLASS,
    UNIFIED,
    BatchLimits,
    is_pcie,
    is_rocm,
)
from gpusizer.model.architecture import Architecture, Attention

_CONTEXT_BYTES = (0.40 * GIB, 0.51 * GIB, 0.70 * GIB)
# Graphs of vLLM 0.19 on H100 with all 51 sizes captured: a fixed part, one per layer, more for
# experts, less where ranks share the work.
_GRAPH_FIXED = 0.25 * GIB
_GRAPH_LAYER = 0.020 * GIB
_GRAPH_EXPERTS = 0.45 * GIB
_GRAPH_RANKS = 0.10 * GIB
_ALL_SIZES = 51
_GRAPH_ROCM = 3.6  # HIP keeps that much more per graph: 3.19 and 4.08 GiB in two logs
_DELTA_RULES = ("qwen3_next", "qwen3_5")  # models of gated delta rules, by the type's beginning
_DELTA_KEY_WIDTH = 128  # a state has so many rows for each value
_WARMUP_BYTES = 16
_ROCM_CODE = (0.2 * GIB, 0.5 * GIB, 1.0 * GIB)
_UNIFIED_HOST = (2.0 * GIB, 3.7 * GIB, 5.5 * GIB)
_LARGEST_SIZE = 512  # tokens of the largest graph; at most two per sequence


def captured_sizes(sequences: int) -> int:
    """Batch sizes that graphs are captured for: 1, 2, 4, then every 8th to 248, every 16th on."""
    largest = min(2 * sequences, _LARGEST_SIZE)
    small = sum(size <= largest for size in (1, 2, 4))
    return small + min(largest, 255) // 8 + max(0, (largest - 240) // 16)


def graph_bytes(
    arch: Architecture, limits: BatchLimits, split: Split, era: Era, card: int = 0
) -> float:
    """CUDA or HIP graphs of one GPU, in proportion to the sizes captured."""
    layers = -(-arch.layers // split.pipeline)
    all_sizes = _GRAPH_FIXED + _GRAPH_LAYER * layers + (_GRAPH_EXPERTS if arch.experts else 0)
    all_sizes = max(_GRAPH_FIXED, all_sizes - _GRAPH_RANKS * (split.tensor - 1).bit_length())
    share = _GRAPH_ROCM if is_rocm(card) else era.graph_share
    return all_sizes * share * captured_sizes(limits.sequences) / _ALL_SIZES


def warmup_bytes(arch: Architecture, limits: BatchLimits, split: Split) -> float:
    """What the profile of graphs counts of a warm-up over a whole step's tokens on one GPU.

    16 bytes for each value of a gated delta rule and each token of a step, which the warm-up gives
    back (issue 50780: 128 KiB a token of Qwen3.5-122B-A10B, whose rules have 64 heads of 128).
    """
    if not arch.model_type.startswith(_DELTA_RULES):
        return 0.0
    states = (
        spec.state_elements - spec.conv_elements
        for spec in arch.layer_plan
        if spec.attention is Attention.RECURRENT
    )
    width = max(states, default=0) / _DELTA_KEY_WIDTH
    return limits.tokens * _WARMUP_BYTES * width / split.tensor


def non_torch_bytes(split: Split, card: int, era: Era) -> float:
    """Growth of memory outside PyTorch: the communicators' buffers, where ranks have any.

    Those for NVLink (all-reduce in symmetric memory, `custom_all_reduce.py`) need peers; those of
    NCCL's NVLS need Hopper's switches besides (NCCL, NCCL_NVLS_ENABLE): two and four A100 under
    0.10 grew by 0.06 to 0.09 GiB, as if on PCIe.
    """
    if split.ranks == 1:
        return era.alone if split.pipeline == 1 else era.alone * 0.3
    switched = card >= (A100_CLASS if era.profiles_whole_prompts else BIG_CLASS)
    return era.nvlink if switched and not is_pcie(card) else era.pcie


def beside_bytes(card: int) -> Amount:
    """Bytes of other memory outside PyTorch on one GPU, by the class of the card.

    HIP loads its libraries' kernels when they are first called, which is after vLLM's first
    reading of free memory. Where CPU and GPU share their memory, "free" is what the system has
    available, so that the host's own growth while it loads and compiles counts too
    (vllm/utils/mem_utils.py, `MemorySnapshot`): 2.0, 3.7, 4.0 and 5.0 GiB in four logs of the
    GB10.
    """
    if is_rocm(card):
        return fitted(*_ROCM_CODE)
    return fitted(*_UNIFIED_HOST) if card == UNIFIED else fitted(0, 0, 0)


def context_bytes() -> Amount:
    """Bytes of the CUDA context, which is in use before vLLM reads free memory and is left out of
    its budget.
    """
    return fitted(*_CONTEXT_BYTES)
