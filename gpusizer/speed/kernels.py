"""Kernels: effects of an engine's build, backend and options on a step."""

# Constants of a class are those of today's builds; on AMD's cards, those of Vulkan.

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gpusizer.gpus import Gpu
from gpusizer.memory.engines import VLLM
from gpusizer.memory.engines.abilities import Abilities
from gpusizer.memory.workload import Workload
from gpusizer.speed.classes import SERVING

_NUMBER = re.compile(r"\d+")

CUDA, ROCM, VULKAN, METAL, SYCL = "cuda", "rocm", "vulkan", "metal", "sycl"
_OF_VENDOR = {
    "NVIDIA": (CUDA, VULKAN),
    "AMD": (VULKAN, ROCM),
    "Apple": (METAL,),
    "Intel": (SYCL, VULKAN),
}
# llama.cpp's usual backend, unless the request states one
_ONE_BACKEND = {"NVIDIA": CUDA, "Apple": METAL}

# Time per layer under ROCm, as a multiple of Vulkan's. 37 and 99 us on an RX 9070 XT (llama.cpp
# issue 26663), 43 and 91 on an RX 7900 XTX (issue 20934), 32 and 48, 53 and 65, 20 and 100 on an RX
# 7900 XTX, 9070 and 9070 XT (llama.cpp discussions 10879 and 15021), 86 and 201 on Strix Halo
# (lhl/strix-halo-testing), each beyond reading at 0.89 of the bandwidth: the geometric mean of the
# ratios. Routing is launches too: Qwen3.6-35B-A3B in Q8_0 takes 19 and 22 ms a token on Strix Halo
# (issue 24438), gpt-oss-20b 7.6 and 9.1 on an RX 9070 XT (LM Studio issue 574).
ROCM_LAYERS = 2.2

# Time per layer under Vulkan on NVIDIA's cards, as a multiple of CUDA's, routing included. 24 to 33
# us on an RTX 4090 and 4070 Ti for Llama-3.2-3B, Qwen2.5-14B and gpt-oss-20b beyond reading at 0.92
# of the bandwidth (geerlingguy/ai-benchmarks), 53 for Qwen3-30B-A3B on an RTX 5090 at 270 tokens/s
# (llama.cpp PR 16977); CUDA's 50 to 65 and 85.
VULKAN_LAYERS = 0.6

# Time that routing adds to a layer under SYCL, as a multiple of Vulkan's. 250 to 350 us on an Arc
# Pro B70 (PMZFX/intel-arc-pro-b70-benchmarks, llama.cpp issue 22413), 60 to 110 us under Vulkan
# (issue 24005), each beyond reading and a dense layer of 60 us.
SYCL_EXPERTS = 3.5

# Time per layer of Metal builds that run operations one by one, as a multiple of today's. M2 Ultra:
# 155 to 189 us in 2023 (llama.cpp discussion 4167), 67 to 120 with build 7948 (llama.cpp,
# benches/mac-m2-ultra). Operations run side by side since PR 15929 of September 2025.
METAL_SERIAL_LAYERS = 1 / 0.6
_METAL_CONCURRENT = 6450

# Seconds that a layer of gpt-oss took more on boards with one memory before autumn 2025. Its
# routing, biases of experts and attention with sinks ran as separate kernels until builds of
# October fused them (pull requests 16649 and 16656; later ones extended it to other routers):
# gpt-oss-20b on GB10 at 62.7 and 83.4 tokens/s with builds 6761 and 7941 (llama.cpp,
# benches/dgx-spark), 165 us a layer; gpt-oss-120b on Jetson Thor 230 beyond today's (llama.cpp);
# gpt-oss-120b and 20b on Strix Halo at 33.7 and 56.6, 47.1 and 79.8 (lhl/strix-halo-testing,
# kyuz0/amd-strix-halo-toolboxes) 350: the geometric mean of the three. GLM-4.5-Air and
# Llama-4-Scout took no more on Strix Halo, nor gpt-oss-20b on GeForce cards.
SINKS_SECONDS = 240e-6
_SINKS_FUSED = 6900

# Seconds that a layer with a gated delta rule took more under Vulkan before a kernel for its step.
# The step was a dozen kernels over whole states until pull request 20334 of March 2026: 134, 135
# and 226 us a layer of Qwen3.5-35B-A3B, Qwen3-Coder-Next and Qwen3.5-122B-A10B on Strix Halo (same
# pull request), 470 of Qwen3-Next-80B-A3B with build 7189 (PR 16095), 1,100 of Qwen3.5-27B in
# Q4_K_M on an Arc Pro B70 with build 8064 (PMZFX/intel-arc-pro-b70-benchmarks): the geometric mean
# of the three sources.
DELTA_SECONDS = 440e-6
_DELTA_KERNEL = 8350

# Time per layer on an M5, as a multiple of an M4's, under every engine. Llama-2-7B in Q4_0 takes 46
# and 42 us a layer on an M5 Max and Pro beyond reading at 0.9 of the bandwidth, 86 on M4s
# (llama.cpp discussion 4167); Qwen3.5-35B-A3B in 4 bits under MLX 102 with its routing on an M5 Max
# (magicnight/Mac-MLX issue 24), 196 by what MLX takes on older chips.
M5_LAYERS = 0.5

# Seconds per layer that launching kernels one by one adds on NVIDIA's cards. With and without CUDA
# graphs, Llama-2-7B of 32 layers: 143.35 and 163.83 tokens/s on an H100 PCIe (llama.cpp issue 6763,
# NVIDIA) are 27 us a layer, 116.31 and 128.27 on an RTX 3090 25, 138.31 and 146.81 on an RTX 4090
# 13 (PR 6766).
LAUNCH_SECONDS = 25e-6
_GRAPHS = 2800  # PR 6766, May 2024, on Ampere and later
_GRAPHS_ON_VOLTA = 9950  # PR 25749, July 2026, on Volta and Turing
_BEFORE_VOLTA = ("Maxwell", "Kepler", "Pascal")  # PR 27721 is open
_BEFORE_AMPERE = ("Volta", "Turing")

# Operations that unpack a quantized weight and do not overlap others on cards before Volta, which
# have one pipe for integers and floating point (NVIDIA, "Turing GPU Architecture", 2018: concurrent
# execution). k-quants and i-quants have scales within scales, older formats do not. A Tesla P40
# needs beyond reading at 0.92 of its bandwidth and 60 us a layer: for Llama-2-7B Q4_0 at 54.7 and
# 56.3 tokens/s 6 operations a weight (llama.cpp discussion 15013, PR 4766), for Mistral-7B and
# Qwen2.5-32B Q4_K_M at 45 and 13 tokens/s 11 and 4 (dmatora/LLM-inference-speed-benchmarks); a GTX
# 1050 Ti for models of 1 to 4 billion in Q4_K_M 16 to 19 (AlexsJones/llmfit).
UNPACKING_OPERATIONS = 12.0
_PLAIN_OPERATIONS = 6.0
_PLAIN_FORMATS = frozenset({"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"})
_ONE_PIPE = _BEFORE_VOLTA

# Operations per weight with scales within scales on an M1, whose cores issue one instruction at a
# time. Beyond what a layer of Llama-2-7B takes in Q4_0 and Q8_0 (llama.cpp discussion 4167), 8
# billion weights in Q4_K_M take 4.5 operations each on an M1 and 12 on an M1 Max (XiongjieDai), 7
# on an M1 Max (brand-o/normiebench), 7 billion 3 and 13 on an M1 Max and Ultra
# (dmatora/LLM-inference-speed-benchmarks). An M3 Max takes 3, an M4 Pro none.
M1_OPERATIONS = 7.0

# Share of the bandwidth of 8 and 16 bits that 4-bit kernels with 16-bit products reach. Serving
# engines multiply by instructions of Ampere's (Marlin, arXiv 2408.11743), which Hopper runs below
# its own rate. Llama-3.1-8B and 3.3-70B in AWQ on an H200 (NVIDIA/Model-Optimizer) take 1.20 and
# 1.32 times what 8 bits let expect of their bytes, Qwen3-8B and 32B on an H20 (QwenLM/Qwen3) 1.19
# and 1.27; Qwen2.5 on an A100 0.97 to 1.07.
WEIGHT_ONLY_ON_HOPPER = 0.76
_WEIGHT_ONLY = ("awq-", "gptq-int4")

# Seconds of a kernel without tokens for its expert, within CUDA graphs. Marlin's first kernel for
# mixtures is launched for each expert in turn, twice a layer (`marlin_mm_moe`,
# csrc/moe/marlin_moe_ops.cu of vLLM until 0.8.4; pull request 12185 says so): DeepSeek-V3 in AWQ on
# eight A100 took 90 ms a token and 34 with one launch for all (same pull request), 1.9 us for each
# of 58 x 256 x 2; Qwen3-30B-A3B and 235B-A22B in GPTQ under SGLang 0.4.6 on H20 take 26 and 55 ms
# beyond what their layers and bytes do (QwenLM/Qwen3), 2.1 and 2.3 us for each of 48 and 94 x 128 x
# 2.
EXPERT_LAUNCH_SECONDS = 2.1e-6
_EXPERT_PRODUCTS = 2  # gate and up together, and down
_OF_MARLIN = ("awq-", "gptq-int")


class ExpertLaunches(NamedTuple):
    """Releases that launch one kernel for all experts of a mixture in AWQ or GPTQ."""

    many: tuple[int, int, int]  # first release for more than `few` experts
    every: tuple[int, int, int]  # first release for any number of them
    few: int

    def together(self, release: tuple[int, int, int], experts: int) -> bool:
        """Return whether a release launches one kernel for all `experts`."""
        return release >= (self.many if experts > self.few else self.every)


# Pull request 13236 of February 2025 took another kernel for more than 32, 14447 rewrote Marlin's.
# SGLang ran vLLM 0.8.4's until sgl-kernel had its own (pull requests 7683 and 8112 of July 2025);
# answers are about its present releases. By the slug of an engine.
_LAUNCHED_TOGETHER = {VLLM.slug: ExpertLaunches(many=(0, 7, 3), every=(0, 8, 5), few=32)}

_FLASH_BY_DEFAULT = 6325  # PR 15434, August 2025: --flash-attn auto
# Without flash attention every query head reads the keys and values of its group again
# (ggml_mul_mat broadcasts them); the caches of NVIDIA's cards with GDDR serve the rest. Llama-3-8B
# and 70B (4 and 8 query heads a group), from 512 to 4,096 tokens: 0.35 to 0.4 and 0.26 to 0.35 of
# the bandwidth on an RTX 4090, A6000 and 6000 Ada, 0.20 and 0.10 on an A100, 0.24 and 0.13 on an
# H100, 0.11 and 0.06 on an M2 Ultra (XiongjieDai/GPU-Benchmarks-on-LLM-Inference).
_READS_ON_GDDR = 2.0

# Batches of a prompt that llama.cpp keeps in flight through a layer split (PR 6017, March 2024:
# GGML_SCHED_MAX_COPIES).
_IN_FLIGHT = 4
# Share of that speed-up that is reached, between small and large models. Llama-3-8B, prompts of
# 1,024 and 8,192 tokens: 1.23 and 1.71 times one RTX 4090 on two, 1.39 and 2.72 on four, where
# 1.33, 1.88, 1.60 and 3.37 would be, 0.81 to 0.92 of it; the 70B on four A40, A6000, 6000 Ada and
# H100 1.07 to 1.46, 0.32 to 0.82 (XiongjieDai). Llama-2-7B Q4_0, 16 batches on two cards: 1.58 of
# 1.88 (PR 4918).
_HANDED_OVER = 0.65
_PIPELINES = 2400


class Kernels(NamedTuple):
    """Kernel options of a request."""

    backend: str  # one of `workload.BACKENDS`
    build: int | None  # number of llama.cpp's build, None for the current one
    flash_attention: bool  # false if attention materialises its scores
    llama_cpp: bool  # of llama.cpp or Ollama, for which the rules below hold
    launched: bool  # the host launches kernels one by one (`Abilities.launches_kernels`)

    @classmethod
    def for_workload(cls, workload: Workload, abilities: Abilities) -> Kernels:
        """Return the kernels of an engine with these abilities."""
        version = workload.engine_version or ""
        number = _NUMBER.search(version) if abilities.numbered_builds else None
        build = int(number[0]) if number else None
        by_default = build is None or build >= _FLASH_BY_DEFAULT
        return cls(
            backend=workload.backend,
            build=build,
            flash_attention=workload.flash_attention and by_default,
            llama_cpp=abilities.reads == "gguf",
            launched=abilities.launches_kernels,
        )

    def since(self, build: int) -> bool:
        """Return whether the build is `build` or a later one."""
        return self.build is None or self.build >= build


def backends_of(kernels: Kernels, gpu: Gpu) -> tuple[str, ...]:
    """Return the backend of the request if the card supports it, else the usual ones."""
    offered = _OF_VENDOR.get(gpu.vendor, ())
    if not kernels.llama_cpp or not offered:
        return ()
    # AMD's Instinct cards have no display driver, and so no Vulkan.
    if gpu.vendor == "AMD" and gpu.memory_type.startswith("HBM"):
        return (ROCM,)
    if kernels.backend in offered:
        return (kernels.backend,)
    return (_ONE_BACKEND[gpu.vendor],) if gpu.vendor in _ONE_BACKEND else offered


class StepTimes(NamedTuple):
    """Effects of kernels on a step of decoding on one card."""

    layer: float  # time per layer as a multiple of the class's
    expert_layer: float  # time that routing adds to a layer, likewise
    launch_seconds: float  # per layer, if a card has no CUDA graphs
    sinks_seconds: float  # per layer of gpt-oss, whose attention has sinks
    delta_seconds: float  # per layer with a gated delta rule


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def step_times(kernels: Kernels, gpu: Gpu) -> StepTimes:
    """Return the times on a card: geometric means over its possible backends."""
    backends = backends_of(kernels, gpu)
    newer = M5_LAYERS if gpu.architecture.startswith("M5") else 1.0
    layer = newer * _mean([_times(kernels, gpu, backend) for backend in backends])
    routing = newer * _mean([_routing_times(kernels, gpu, backend) for backend in backends])
    sinks = _sinks_seconds(kernels, gpu) if kernels.llama_cpp else 0.0
    has_kernel = kernels.since(_DELTA_KERNEL) or backends != (VULKAN,)
    delta = 0.0 if has_kernel else DELTA_SECONDS
    return StepTimes(layer, routing, _launch_seconds(kernels, gpu, backends), sinks, delta)


def _mean(factors: Sequence[float]) -> float:
    return math.prod(factors) ** (1 / len(factors)) if factors else 1.0


def _times(kernels: Kernels, gpu: Gpu, backend: str) -> float:
    if backend == METAL and not kernels.since(_METAL_CONCURRENT):
        return METAL_SERIAL_LAYERS
    if gpu.vendor == "NVIDIA" and backend == VULKAN:
        return VULKAN_LAYERS
    return ROCM_LAYERS if gpu.vendor == "AMD" and backend == ROCM else 1.0


def _routing_times(kernels: Kernels, gpu: Gpu, backend: str) -> float:
    if gpu.vendor == "Intel" and backend == SYCL:
        return SYCL_EXPERTS
    return _times(kernels, gpu, backend) if backend in (VULKAN, ROCM) else 1.0


def _sinks_seconds(kernels: Kernels, gpu: Gpu) -> float:
    on_board = gpu.unified_memory and gpu.vendor != "Apple"
    return SINKS_SECONDS if on_board and not kernels.since(_SINKS_FUSED) else 0.0


def _launch_seconds(kernels: Kernels, gpu: Gpu, backends: tuple[str, ...]) -> float:
    if backends != (CUDA,):
        return 0.0
    architecture = gpu.architecture
    graphs = kernels.since(_GRAPHS) and not architecture.startswith(_BEFORE_VOLTA)
    if architecture.startswith(_BEFORE_AMPERE):
        graphs = kernels.since(_GRAPHS_ON_VOLTA)
    return 0.0 if graphs else LAUNCH_SECONDS


def launches_small_kernels(gpu: Gpu) -> bool:
    """Return whether norms and recurrences take a launch each: on AMD's and Apple's GPUs."""
    # On NVIDIA's they are parts of recorded graphs. On Intel's, layers with a gated delta rule take
    # no more than others (PMZFX/intel-arc-pro-b70-benchmarks).
    return gpu.vendor in ("AMD", "Apple")


def unpacking_seconds(kernels: Kernels, gpu: Gpu, weights: float, bits: float, quant: str) -> float:
    """Return the seconds in which a step unpacks `weights` weights without overlap."""
    if not (kernels.llama_cpp and bits < 16 and gpu.fp32_flops):
        return 0.0
    operations = 0.0
    if gpu.vendor == "NVIDIA" and gpu.architecture.startswith(_ONE_PIPE):
        operations = _PLAIN_OPERATIONS if quant in _PLAIN_FORMATS else UNPACKING_OPERATIONS
    elif gpu.architecture.startswith("M1") and quant not in _PLAIN_FORMATS:
        operations = M1_OPERATIONS
    return weights * operations * gpu.devices_per_board / gpu.fp32_flops


def reads_of_weights(family: str, gpu: Gpu, quant: str) -> float:
    """Return the time of reading weights on this card, as a multiple of bytes over bandwidth."""
    on_hopper = family == SERVING and gpu.architecture.startswith("Hopper")
    slow = on_hopper and quant.startswith(_WEIGHT_ONLY)
    return 1 / WEIGHT_ONLY_ON_HOPPER if slow else 1.0


def expert_launch_seconds(
    engine: str, release: tuple[int, int, int] | None, quant: str, experts: int
) -> float:
    """Return seconds per layer for experts launched one by one; 0 for the newest release."""
    if release is None or engine not in _LAUNCHED_TOGETHER or not quant.startswith(_OF_MARLIN):
        return 0.0
    together = _LAUNCHED_TOGETHER[engine].together(release, experts)
    return 0.0 if together else experts * _EXPERT_PRODUCTS * EXPERT_LAUNCH_SECONDS


def cache_reads(kernels: Kernels, gpu: Gpu, query_heads: float) -> float:
    """Return the number of times a step reads the cache. `query_heads` share keys and values."""
    if kernels.flash_attention or not kernels.llama_cpp:
        return 1.0
    on_gddr = gpu.vendor == "NVIDIA" and not gpu.memory_type.startswith("HBM")
    return min(query_heads, _READS_ON_GDDR) if on_gddr else query_heads


def pipelined(kernels: Kernels, gpu: Gpu, stages: int, batches: int) -> float:
    """Return the share of a prompt's time that is left if a layer split pipelines its batches."""
    # m batches take m + k - 1 turns of 1/k of the time, k of them at once
    at_once = min(stages, _IN_FLIGHT)
    if not kernels.since(_PIPELINES) or backends_of(kernels, gpu) not in ((CUDA,), (ROCM,)):
        return 1.0
    turns = (batches + at_once - 1) / (batches * at_once)
    return min(1.0, turns / _HANDED_OVER)
