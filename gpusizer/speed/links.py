"""Seconds of exchange between GPUs: all-reduces of tensor parallelism, hops of a layer split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpusizer.gpus import Gpu
from gpusizer.speed.rate import RateBand

# after attention and after the feed-forward block (Shoeybi et al. 2019)
REDUCES_PER_LAYER = 2
# A token's state handed to the next GPU of a layer split. llama.cpp, Llama-3-8B Q4_K_M on 1, 2, 4,
# 8 RTX 4090: 127.7, 122.6, 117.6, 116.1 tokens/s (XiongjieDai/GPU-Benchmarks-on-LLM-Inference):
# 0.11 to 0.33 ms a hop.
SECONDS_PER_HOP = 0.00012
# Widens the band of a single GPU, because engines and boards differ in their exchange. vLLM of 2023
# on two RTX 4090 reaches 0.24 to 0.44 of their roofline, MLC 0.59 to 0.63. Set by hand so that a
# guide's 15 tokens/s of Qwen2-72B on such a pair lies inside; not fitted.
TENSOR_PARALLEL_BAND = RateBand(0.72, 1.15)
_ACTIVATION_BYTES = 2


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """The link between the GPUs of a tensor-parallel group."""

    fabric: bool  # NVLink, Infinity Fabric or the like, not PCIe
    seconds: float  # latency of one all-reduce
    bytes_per_second: float  # rate that one GPU sends at in practice


# gpt-fast on A100 with NVLink takes no longer per layer on 8 GPUs than on 1 (67 to 72 us beyond
# reading, pytorch-labs/gpt-fast); vLLM 10 to 20 us more on 2 (Qwen2.5 speed page), 20 on 8 A100,
# A800, H200 and H20 (AccelMark).
_FABRIC_SECONDS = 10e-6
# MLC on 2 RTX 4090 80 us a layer (mlc-ai/llm-perf-bench), on A10G about 130; vLLM on two RTX 3090
# 25 % slower over PCIe than over NVLink with one user (r/LocalLLaMA 1t6susj), about 90.
_PCIE_SECONDS = 55e-6
_REACHED = {True: 0.7, False: 0.4}
_USUAL_PCIE = 32e9  # bytes per second, both directions: 4.0 x8, if the catalogue has none


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def link_of(gpu: Gpu, cards: int) -> LinkSpeed:
    """Return the best link between `cards` GPUs; a fabric only if it joins all of them."""
    rate = gpu.interconnect_bytes_per_second
    if rate is not None and gpu.fabric_joins(-(-cards // gpu.devices_per_board)):
        return LinkSpeed(True, _FABRIC_SECONDS, rate / 2 * _REACHED[True])
    pcie = gpu.pcie_bytes_per_second or _USUAL_PCIE
    return LinkSpeed(False, _PCIE_SECONDS, pcie / 2 * _REACHED[False])


def exchange_seconds(gpu: Gpu, cards: int, hidden: int, tokens: float) -> float:
    """Return the seconds of a layer's all-reduces for `tokens`: latency plus ring traffic."""
    if cards == 1:
        return 0.0
    link = link_of(gpu, cards)
    traffic = 2 * (cards - 1) / cards * hidden * _ACTIVATION_BYTES * tokens
    return REDUCES_PER_LAYER * (link.seconds + traffic / link.bytes_per_second)
