"""Table of invariants between the columns of data/gpus.csv.

Each invariant names its exceptions with the reason. An exception that is no longer needed fails
like a violation, so that the lists stay current.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpusizer.core.units import GB, GIB, MIB
from gpusizer.gpus import Gpu
from tests.data.gpu_memory_rules import (
    MEMORY_RULES,
    RELATIVE,
    TORCH_RULE,
    follows_rule,
    follows_torch_rule,
    low_reading_mib,
)

PCIE_GB_PER_LANE = {3: 2, 4: 4, 5: 8, 6: 16}  # nominal, both directions
# Sources round the rates of the same card to different digits.
TOLERANCE = 0.03


@dataclass(frozen=True)
class Invariant:
    """`holds` for every GPU to which it `applies`, except those named with a reason."""

    name: str
    applies: Callable[[Gpu], bool]
    holds: Callable[[Gpu], bool]
    exceptions: Mapping[str, str] = field(default_factory=dict)


def ratio(above: str, below: str, *allowed: float) -> dict[str, Callable[[Gpu], bool]]:
    """Build an invariant: two rates, where both are known, have one of the allowed ratios."""

    def applies(gpu: Gpu) -> bool:
        return getattr(gpu, above) is not None and getattr(gpu, below) is not None

    def holds(gpu: Gpu) -> bool:
        quotient = getattr(gpu, above) / getattr(gpu, below)
        return any(abs(quotient / value - 1) <= TOLERANCE for value in allowed)

    return {"applies": applies, "holds": holds}


def always(_: Gpu) -> bool:
    return True


def has_compute_capability(gpu: Gpu) -> bool:
    return gpu.software == "CUDA" and gpu.compute_capability != ""


def compute_capability(gpu: Gpu) -> float:
    return float(gpu.compute_capability or "nan")


def within_label(gpu: Gpu) -> bool:
    # 288 GB of HBM3e is decimal, every GDDR label is binary: the binary reading bounds both.
    return gpu.memory_bytes <= gpu.memory_marketing_gb * GIB


def macos_or_shared(gpu: Gpu) -> bool:
    return gpu.unified_memory and (gpu.segment in {"apple", "embedded", "soc"})


def dated(gpu: Gpu) -> bool:
    prices = [price for price in (gpu.street, gpu.rent) if price is not None]
    return all(price.date is not None and price.date.startswith("20") for price in prices)


COMPUTE_CAPABILITIES = {
    "Kepler": {3.7},
    "Maxwell": {5.2, 5.3},
    "Pascal": {6.0, 6.1},
    "Volta": {7.0, 7.2},
    "Turing": {7.5},
    "Turing (no tensor cores)": {7.5},
    "Ampere": {8.0, 8.6, 8.7},
    "Ada Lovelace": {8.9},
    "Hopper": {9.0},
    "Blackwell": {10.0, 11.0, 12.0, 12.1},
    "Blackwell Ultra": {10.3},
}

INVARIANTS = [
    Invariant("usable memory is within the label", always, within_label),
    Invariant(
        "usable memory is at least 0.6 of the label, of memory that systems lend half",
        always,
        lambda gpu: (
            gpu.memory_bytes
            >= (0.5 if gpu.segment == "soc" else 0.6) * gpu.memory_marketing_gb * GIB
        ),
        {
            "jetson-nano-4gb": "its system takes 2 GiB of 4 GB",
            "jetson-orin-nano-4gb": "its system takes 2 GiB of 4 GB",
        },
    ),
    Invariant(
        "memory derived by a rule follows it",
        lambda gpu: gpu.memory_note in MEMORY_RULES,
        follows_rule,
    ),
    Invariant(
        "memory without a rule or an observation of its own points at a relative",
        lambda gpu: gpu.memory_basis != "observed" and gpu.memory_note not in MEMORY_RULES,
        lambda gpu: gpu.memory_basis == "rule" and bool(RELATIVE.match(gpu.memory_note)),
    ),
    Invariant(
        "PyTorch's total derived by a rule follows it",
        lambda gpu: gpu.torch_memory_note == TORCH_RULE,
        follows_torch_rule,
    ),
    Invariant(
        "PyTorch's total without the rule is observed or points at a relative",
        lambda gpu: gpu.torch_memory_bytes is not None and gpu.torch_memory_note != TORCH_RULE,
        lambda gpu: (
            gpu.torch_memory_basis == "observed" or bool(RELATIVE.match(gpu.torch_memory_note))
        ),
    ),
    Invariant(
        "PyTorch counts up to 2.2 % less than the driver on large cards, 150 MiB and more",
        lambda gpu: gpu.torch_memory_bytes is not None,
        lambda gpu: (
            150 * MIB
            <= gpu.device_memory_bytes - gpu.device_torch_memory_bytes
            <= 150 * MIB + 0.022 * gpu.device_memory_bytes
        ),
    ),
    Invariant(
        "NVIDIA's cards with memory of their own have a total of PyTorch's",
        lambda gpu: gpu.software == "CUDA" and not gpu.unified_memory,
        lambda gpu: gpu.torch_memory_bytes is not None,
    ),
    Invariant(
        "memory of its own is reported almost whole",
        lambda gpu: not macos_or_shared(gpu),
        lambda gpu: gpu.memory_bytes // MIB >= low_reading_mib(gpu),
        {"tesla-k80-24gb": "inline ECC leaves 2 x 11441 MiB, 6 MiB less than 24 x 10^9 bytes"},
    ),
    Invariant(
        "shared memory is not promised whole",
        macos_or_shared,
        lambda gpu: gpu.memory_bytes <= 0.92 * gpu.memory_marketing_gb * GIB,
        {"gb10-dgx-spark-128gb": "CUDA reports 121.6 GiB; the system takes its part of that"},
    ),
    Invariant(
        "devices share the board's memory equally",
        always,
        lambda gpu: gpu.device_memory_bytes * gpu.devices_per_board == gpu.memory_bytes,
    ),
    Invariant(
        "FP8 is twice FP16",
        **ratio("fp8_flops", "fp16_tensor_flops", 2),
        exceptions={
            "rubin-r200-288gb": "pre-release: 17.5 PFLOPS FP8 against 4 PFLOPS FP16",
            "ascend-950dt-96gb": "486 FP16 and 919 FP8 in the only table known",
        },
    ),
    Invariant(
        "FP4 is two to four times FP8",
        **ratio("fp4_flops", "fp8_flops", 2, 3, 4),
        exceptions={"b300-sxm-288gb": "14 PFLOPS FP4 against 4.5 PFLOPS FP8: 3.1 times"},
    ),
    Invariant(
        "FP16 accumulation is as fast or twice as fast",
        **ratio("fp16_tensor_fp16acc_flops", "fp16_tensor_flops", 1, 2),
    ),
    Invariant(
        "BF16 runs at the FP16 rate",
        **ratio("bf16_flops", "fp16_tensor_flops", 1),
        exceptions={"instinct-mi100-32gb": "CDNA 1 does BF16 at half rate"},
    ),
    Invariant("TF32 is half of FP16", **ratio("tf32_flops", "fp16_tensor_flops", 0.5)),
    Invariant(
        "PCIe rate is lanes times the lane rate",
        lambda gpu: gpu.pcie_bytes_per_second is not None,
        lambda gpu: (
            gpu.pcie_bytes_per_second
            == (gpu.pcie_lanes or 0) * PCIE_GB_PER_LANE[gpu.pcie_generation or 0] * GB
        ),
    ),
    Invariant(
        "NVLink has a bandwidth, no NVLink has none",
        always,
        lambda gpu: gpu.nvlink == (gpu.nvlink_bytes_per_second is not None),
        {"quadro-gp100-16gb": "bridge bandwidth not found"},
    ),
    Invariant(
        "NVLink is the interconnect and joins a known number of GPUs",
        lambda gpu: gpu.nvlink,
        lambda gpu: gpu.interconnect == "NVLink" and (gpu.interconnect_domain or 0) >= 2,
    ),
    Invariant(
        "NVLink is an NVIDIA product",
        lambda gpu: gpu.nvlink,
        lambda gpu: gpu.vendor == "NVIDIA",
    ),
    Invariant(
        "architecture and compute capability agree",
        lambda gpu: gpu.vendor == "NVIDIA" and gpu.architecture != "Rubin",
        lambda gpu: compute_capability(gpu) in COMPUTE_CAPABILITIES[gpu.architecture],
    ),
    Invariant(
        "BF16 starts with Ampere",
        has_compute_capability,
        lambda gpu: gpu.bf16_support == (compute_capability(gpu) >= 8.0),
    ),
    Invariant(
        "FP8 starts with Ada and Hopper",
        has_compute_capability,
        lambda gpu: gpu.fp8_support == (compute_capability(gpu) >= 8.9),
    ),
    Invariant(
        "FP4 starts with Blackwell",
        has_compute_capability,
        lambda gpu: gpu.fp4_support == (compute_capability(gpu) >= 10.0),
    ),
    Invariant(
        "FlashAttention-2 starts with Ampere",
        has_compute_capability,
        lambda gpu: (gpu.flash_attention_2 == "yes") == (compute_capability(gpu) >= 8.0),
    ),
    Invariant(
        "a rate implies its support",
        always,
        lambda gpu: (
            (gpu.bf16_flops is None or gpu.bf16_support)
            and (gpu.fp8_flops is None or gpu.fp8_support)
            and (gpu.fp4_flops is None or gpu.fp4_support)
        ),
    ),
    Invariant(
        "plausible magnitudes",
        always,
        lambda gpu: (
            2014 <= gpu.release_year <= 2026
            and 2 <= gpu.memory_marketing_gb <= 512
            and 25e9 <= (gpu.bandwidth_bytes_per_second or 25e9) <= 25e12
            and 5 <= (gpu.power_watts or 5) <= 2500
        ),
    ),
    Invariant(
        "prices are positive, sourced, and dated where they change daily",
        always,
        lambda gpu: (
            all(p is None or (p.usd > 0 and p.source) for p in (gpu.launch, gpu.street, gpu.rent))
            and dated(gpu)
        ),
    ),
    Invariant(
        "modified cards say so",
        lambda gpu: gpu.status == "modified",
        lambda gpu: gpu.slug.endswith("-mod") and "(modified" in gpu.name and gpu.launch is None,
    ),
    Invariant(
        "sources can be followed outside this repository",
        always,
        lambda gpu: (
            not any(
                word in gpu.sources + gpu.notes + gpu.memory_note
                for word in ("find_string", "smi:")
            )
        ),
    ),
]
