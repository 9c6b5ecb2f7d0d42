"""Time and money of training: FLOPs executed at a measured share of the peak, and traffic.

A step takes as long as its products at that share of the dense 16-bit rate and, after them, the
traffic between GPUs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import records_by
from gpusizer.core.units import significant
from gpusizer.gpus import Gpu
from gpusizer.speed.rate import Rate
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape
from gpusizer.training.sharding import adds_up_whole
from gpusizer.training.stacks import TrainingStack
from gpusizer.training.state import State

NODE = 8  # boards that one machine holds
_LINK_SHARE = 0.7  # of one direction of NVLink and the like, by large all-reduces
_PCIE_SHARE = 0.3  # two RTX 3090 sharding a 7B model: about 10 of 32 GB/s
_NETWORK_BYTES_PER_SECOND = 50e9  # 400 Gbit/s for each GPU: usual in training clusters
_EXPERT_SHARE = 0.4  # Megatron-Bridge on H100: Qwen3-30B-A3B against dense Llama 3
# Share of the speed that training keeps under each offload.
_OFFLOAD_SHARE = {
    "none": 1.0,
    "activations": 0.85,
    "optimizer": 0.6,
    "parameters": 0.95,
    "model": 0.55,
    "all": 0.5,
    "nvme": 0.15,
}
_HIDDEN = 0.8  # of the shorter of computing and sending, where a fabric does not need the GPU
_SMALL_STEP = 512  # tokens of a step whose kernels take as long to launch as to compute


@dataclass(frozen=True, slots=True)
class SpeedClass:
    """Share of the dense 16-bit rate that training reaches on a class of GPU."""

    share: float
    band: float
    measured: str  # architectures with runs in the data; others take their share
    source: str


@cache
def speed_classes() -> dict[str, SpeedClass]:
    """Return the rows of `data/training_speed.csv`."""
    return records_by(DATA_DIR / "training_speed.csv", "gpu_class", SpeedClass)


def class_of(gpu: Gpu) -> str:
    """Return the name of the row for a GPU."""
    if gpu.vendor != "NVIDIA":
        return "amd" if gpu.vendor == "AMD" else "other"
    if gpu.segment == "consumer":
        return "nvidia_consumer"
    if gpu.architecture in ("Hopper", "Blackwell", "Blackwell Ultra") and _has_hbm(gpu):
        return "nvidia_hopper"
    return "nvidia_ampere_hbm" if gpu.architecture == "Ampere" and _has_hbm(gpu) else "nvidia_other"


def is_measured(gpu: Gpu) -> bool:
    """Return whether the data hold training runs of the GPU's architecture."""
    return gpu.architecture in speed_classes()[class_of(gpu)].measured.split("/")


def _has_hbm(gpu: Gpu) -> bool:
    return gpu.memory_type.startswith("HBM")


def flops_per_token(shape: TrainedShape, active: int, plan: TrainingPlan) -> float:
    """Return FLOPs executed for one token; embeddings are looked up, not multiplied."""
    # Forward 2 FLOPs per parameter and token, backward 2 for the gradients of activations and 2 for
    # those of trained weights, 2 again if activations are recomputed (Korthikanti et al. 2022;
    # Chowdhery et al. 2022, appendix B). A tied embedding is multiplied as the head.
    passes = 4.0 if plan.adapted else 6.0
    repeated = {"full": 2.0, "selective": 1.0, "none": 0.0}[plan.gradient_checkpointing]
    products = (passes + repeated) * max(0, active - shape.looked_up)
    scores = 2.0 * plan.sequence_length * shape.head_width * shape.layers  # causal: half of them
    return products + scores * (3 + repeated / 2)


def traffic_bytes(
    shape: TrainedShape, state: State, plan: TrainingPlan, stack: TrainingStack
) -> float:
    """Return bytes that one GPU sends in a step: rings pass (n - 1) / n of everything."""
    n = plan.shards
    share = (n - 1) / n
    model = plan.model_parallel
    steps = plan.gradient_accumulation
    width = state.compute_width  # DeepSpeed's communication_data_type: that of the computation
    reduced = returned = width * state.trainable
    every = state.trainable + state.frozen_parameters
    fetched = 2 * (state.weights if plan.adapted else width * every)
    # Replicas sum gradients in one update of several steps (DistributedDataParallel.no_sync, as
    # accelerate uses it). ZeRO-1 does so in halves: gradients go to the GPU that updates them,
    # whose weights come back. ZeRO-2 sends gradients in every step, FSDP by framework (`sharding`).
    # Sharded weights are fetched forwards and backwards, cast first if all of them are trained.
    exchanged = {
        "none": 2 * state.gradients / steps,
        "ddp": 2 * state.gradients / steps,
        "zero1": (reduced + returned) / steps,
        "zero2": reduced + returned / steps,
        "zero3": fetched + reduced,
        "fsdp": fetched + state.gradients / (steps if adds_up_whole(plan, stack) else 1),
    }
    sent = share * exchanged[plan.sharding] / model
    if plan.tensor_parallel > 1:
        vectors = shape.hidden * plan.compute_bytes * plan.tokens * shape.layers
        ring = (plan.tensor_parallel - 1) / plan.tensor_parallel
        sent += 4 * 2 * ring * vectors / plan.pipeline_parallel
    return sent


def link_of(gpu: Gpu, devices: int) -> Literal["fabric", "network", "pcie"]:
    """Return the link of the slowest exchange between `devices` devices."""
    boards = math.ceil(devices / gpu.devices_per_board)
    if boards > max(gpu.interconnect_domain or 0, NODE):
        return "network"
    fast = gpu.interconnect_bytes_per_second and gpu.fabric_joins(boards)
    return "fabric" if fast else "pcie"


def network_bytes_per_second(gpu: Gpu) -> float:
    """Return bytes per second of the network for each GPU, at most those inside a machine."""
    network = _NETWORK_BYTES_PER_SECOND / (1 if gpu.is_for_servers else 8)
    inside = link_bytes_per_second(gpu, NODE * gpu.devices_per_board)
    return network if inside is None else min(network, inside)


def link_bytes_per_second(gpu: Gpu, devices: int) -> float | None:
    """Return bytes per second that one of `devices` devices sends, None if links are unknown."""
    link = link_of(gpu, devices)
    if link == "network":
        return network_bytes_per_second(gpu)
    if link == "fabric" and gpu.interconnect_bytes_per_second:
        return gpu.interconnect_bytes_per_second / 2 * _LINK_SHARE
    if gpu.pcie_bytes_per_second is None:
        return None
    return gpu.pcie_bytes_per_second / 2 * _PCIE_SHARE


def _overlaps(gpu: Gpu, devices: int) -> bool:
    # Sending overlaps with computing over a fabric, or between machines with one.
    link = link_of(gpu, devices)
    joined = link_of(gpu, NODE * gpu.devices_per_board) == "fabric"
    return link == "fabric" or (link == "network" and gpu.is_for_servers and joined)


def training_rate(
    shape: TrainedShape,
    active: int,
    state: State,
    plan: TrainingPlan,
    stack: TrainingStack,
    gpu: Gpu,
) -> Rate | None:
    """Return tokens per second of `plan.gpus` together; None without the GPU's peak."""
    peak = gpu.fp16_flops
    if peak is None:
        return None
    constants = speed_classes()[class_of(gpu)]
    reached = peak / gpu.devices_per_board * constants.share * _OFFLOAD_SHARE[plan.offload]
    if any(matrix.expert for matrix in shape.matrices):
        reached *= _EXPERT_SHARE
    model = plan.model_parallel
    tokens = plan.tokens
    computing = (tokens + _SMALL_STEP) * flops_per_token(shape, active, plan) / model / reached
    link = link_bytes_per_second(gpu, plan.gpus)
    sending = 0.0
    if plan.gpus > 1:
        if link is None:
            return None
        sending = traffic_bytes(shape, state, plan, stack) / link
    hidden = _HIDDEN * min(computing, sending) if _overlaps(gpu, plan.gpus) else 0.0
    steps = 1 / (computing + sending - hidden)
    likely = tokens * plan.shards * steps
    low, high = 1 - constants.band, 1 + constants.band
    ends = (likely * low, likely, likely * high)
    return Rate(*map(significant, ends))
