"""CUDA graphs of vLLM: captured sizes, their memory, and vLLM's estimate of it.

The sizes: `_set_cudagraph_sizes`, vllm/config/vllm.py; the modes: `CUDAGraphMode`,
vllm/config/compilation.py.
"""

from __future__ import annotations

from gpusizer.core.units import KIB
from gpusizer.memory.engines.base import Placement, Split
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.version_defaults import (
    BIG_CLASS,
    HUGE_CLASS,
    BatchLimits,
    is_rocm,
    is_xpu,
)
from gpusizer.model.architecture import Architecture

# Bytes that the driver keeps for one layer of one graph: of one in pieces, cut at every attention,
# and of a whole one. Two constants for the logs of 28 sources of 0.7 to 0.27 (Qwen3.5-4B with 35
# and 19 graphs under 0.22: 0.35 GiB, printed 0.35). Experts are more kernels.
_PIECEWISE_LAYER = 256 * KIB
_WHOLE_LAYER = 128 * KIB
_EXPERTS = 1.3
_ROCM = 5.9  # HIP keeps that much more: 5.1 and 6.8 times in two logs
_LARGEST = 512  # tokens of the largest graph
_LARGEST_DECODE = 256  # of the first scheduler's
_LARGEST_BLACKWELL = 1024  # of data centres' cards, pull request 49390
_BLACKWELL_SINCE = (0, 28, 0)
_LARGEST_OF_TYPE = {
    "gpt_oss": 1024
}  # GptOssForCausalLMConfig, vllm/model_executor/models/config.py
_FINE_STEP = 8
_FINE_UP_TO = 256
# FlashAttention 3, which Hopper runs, has an FP32 output for each of `_SPLITS` splits of the keys
# in whole graphs (`flash_attn_max_num_splits_for_cuda_graph`, vllm/config/attention.py).
_SPLITS = 32
_SPLIT_ELEMENT = 4
_DELTA_RULES = ("qwen3_next", "qwen3_5")  # models of gated delta rules, by the type's beginning
_DELTA_KEY_WIDTH = 128  # rows of a state for each value
_WARMUP_BYTES = 16


def captured_sizes(largest: int, step: int) -> int:
    """Return the number of captured sizes among 1, 2, 4, every 8th to 256 and every `step`-th."""
    small = sum(size <= largest for size in (1, 2, 4))
    fine = min(largest, _FINE_UP_TO - 1) // _FINE_STEP
    return small + fine + max(0, (largest - _FINE_UP_TO + step) // step)


def graph_bytes(
    placement: Placement, arch: Architecture, limits: BatchLimits, release: VllmRelease
) -> float:
    """Return bytes of CUDA or HIP graphs of one GPU.

    Layers x (graphs in pieces x 256 KiB + whole graphs x 128 KiB), and once the splits of
    attention.
    """
    # Intel's cards capture none unless VLLM_XPU_ENABLE_XPU_GRAPH is set.
    if is_xpu(placement.device_class):
        return 0.0
    split, card = placement.split, placement.device_class
    most = _largest(arch, release, card)
    # A step of decoding has each sequence's token and those guessed ahead.
    decoding = limits.sequences * (1 + placement.workload.draft_tokens)
    steps = most if arch.model_type in _LARGEST_OF_TYPE else min(2 * decoding, most)
    whole_tokens = 0 if release.graphs == "piecewise" else min(decoding, most)
    pieces = 0 if release.graphs == "decode" else captured_sizes(steps, release.graph_step)
    whole = captured_sizes(whole_tokens, release.graph_step)
    layers = -(-arch.layers // split.pipeline)
    per_layer = pieces * _PIECEWISE_LAYER + whole * _WHOLE_LAYER
    kept = layers * per_layer * (_EXPERTS if arch.experts else 1.0)
    if is_rocm(card):
        return kept * _ROCM
    splits = _split_bytes(arch, split, whole_tokens) if card == BIG_CLASS else 0.0
    return kept + (splits if release.graphs == "both" else 0.0)


def _largest(arch: Architecture, release: VllmRelease, card: int) -> int:
    """Return tokens of the largest graph that may be captured."""
    if release.graphs == "decode":
        return _LARGEST_DECODE
    blackwell = card == HUGE_CLASS and release.since >= _BLACKWELL_SINCE
    return _LARGEST_OF_TYPE.get(arch.model_type, _LARGEST_BLACKWELL if blackwell else _LARGEST)


def _split_bytes(arch: Architecture, split: Split, tokens: int) -> float:
    """Return bytes of one layer's attention outputs: splits x tokens x heads x width."""
    # Layers and graphs take turns in them. A latent's output is as wide as the latent.
    kept = (run.layer.tokens for run in arch.layer_plan)
    widths = (tokens.output_width for tokens in kept if tokens)
    heads = (arch.attention_heads or 0) / split.tensor
    return _SPLITS * tokens * heads * max(widths, default=0.0) * _SPLIT_ELEMENT


def warmup_bytes(arch: Architecture, limits: BatchLimits, split: Split) -> float:
    """Return bytes of a warm-up for a whole step that the profile of graphs counts on one GPU."""
    if not arch.model_type.startswith(_DELTA_RULES):
        return 0.0
    # 16 bytes for each value of a gated delta rule and each token of a step, which the warm-up
    # gives back (issue 50780: 128 KiB a token of Qwen3.5-122B-A10B, whose rules have 64 heads of
    # 128).
    states = (run.layer.state for run in arch.layer_plan)
    width = max((state.recurrent_size for state in states if state), default=0) / _DELTA_KEY_WIDTH
    return limits.tokens * _WARMUP_BYTES * width / split.tensor
