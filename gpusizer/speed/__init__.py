"""A first speed model: decode by bandwidth, prefill by compute, both calibrated by class.

decode: seconds per token = bytes read / (efficiency x bandwidth) + layers x time per layer.
The two constants of each engine family and GPU class come from published runs
(data/speed_classes.csv); prefill is a share of the dense 16-bit peak (data/prefill_classes.csv).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

from gpusizer.gpus import Gpu
from gpusizer.kv_cache import kv_cache_bytes
from gpusizer.memory import MemoryEstimate
from gpusizer.paths import DATA_DIR
from gpusizer.profile import ModelProfile
from gpusizer.workload import Workload

# Published tensor-parallel scaling: share of n cards' bandwidth that n cards reach.
_TENSOR_PARALLEL_SHARE = {1: 1.0, 2: 0.60, 4: 0.50, 8: 0.40}
_FAMILY = {
    "llama.cpp": "llama.cpp", "ollama": "llama.cpp", "exllama": "exllama", "mlx": "mlx",
    "transformers": "transformers", "diffusers": "transformers",
}  # fmt: skip
_SERVING = "serving"


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens per second with its band."""

    low: float
    likely: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"low": self.low, "likely": self.likely, "high": self.high}


@dataclass(frozen=True, slots=True)
class SpeedClass:
    """Constants of one engine family on one class of GPU."""

    efficiency: float
    seconds_per_layer: float
    band: float
    source: str


@cache
def _speed_classes() -> dict[tuple[str, str], SpeedClass]:
    with (DATA_DIR / "speed_classes.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["engine_family"], row["gpu_class"]): SpeedClass(
                float(row["bandwidth_efficiency"]),
                float(row["seconds_per_layer"]),
                float(row["band"]),
                row["source"],
            )
            for row in csv.DictReader(file)
        }


@cache
def _prefill_classes() -> dict[str, tuple[float, float]]:
    with (DATA_DIR / "prefill_classes.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["gpu_class"]: (float(row["mfu"]), float(row["band"]))
            for row in csv.DictReader(file)
        }


def gpu_class(gpu: Gpu) -> str:
    """The calibration class of a GPU."""
    if gpu.vendor == "NVIDIA":
        return "nvidia_hbm" if gpu.memory_type.startswith("HBM") else "nvidia_gddr"
    return {"Apple": "apple", "AMD": "amd"}.get(gpu.vendor, "other")


def speed_class(engine_slug: str, of_gpu_class: str) -> SpeedClass:
    """Constants for an engine on a GPU class; the cautious "other" row where unmeasured."""
    family = _FAMILY.get(engine_slug, _SERVING)
    table = _speed_classes()
    found = table.get((family, of_gpu_class)) or table.get((family, "other"))
    return found or table[("llama.cpp", "other")]


def bytes_per_step(profile: ModelProfile, estimate: MemoryEstimate, workload: Workload) -> float:
    """Bytes one decoding step of all sequences reads: weights once, every sequence's cache.

    A MoE step reads the experts that at least one sequence chose: of E experts with k chosen
    each, E x (1 - (1 - k/E)^n) are expected for n sequences.
    """
    sizes, arch = estimate.sizes, profile.architecture
    share = 1.0
    if arch and arch.experts and arch.experts_per_token:
        unused = 1 - min(1.0, arch.experts_per_token / arch.experts)
        share = 1 - unused**workload.concurrency
    weights = sizes.total - sizes.embedding - sizes.experts * (1 - share)
    cache_bytes = kv_cache_bytes(arch, workload.context, workload.concurrency, workload.kv_dtype)
    return float(weights + cache_bytes)


def tokens_per_second(
    profile: ModelProfile, estimate: MemoryEstimate, step_bytes: float, gpu: Gpu
) -> float | None:
    """Likely decoding speed of one user, None when the GPU's bandwidth is unknown.

    `step_bytes` as `bytes_per_step` counts them.
    """
    if gpu.bandwidth_bytes_per_second is None:
        return None
    layers = profile.architecture.layers if profile.architecture else 1
    constants = speed_class(estimate.engine.slug, gpu_class(gpu))
    device = gpu.bandwidth_bytes_per_second / gpu.devices_per_board
    cards = _effective_cards(estimate.split.tensor)
    reading = step_bytes / (constants.efficiency * device * cards)
    return 1.0 / (reading + constants.seconds_per_layer * layers)


def _effective_cards(tensor: int) -> float:
    """n tensor-parallel cards read like this many; a layer split reads like one."""
    known = max(n for n in _TENSOR_PARALLEL_SHARE if n <= tensor)
    return tensor * _TENSOR_PARALLEL_SHARE[known]


def decode_rate(
    profile: ModelProfile, estimate: MemoryEstimate, workload: Workload, gpu: Gpu
) -> Rate | None:
    """Tokens/s of one user on one kind of GPU, None when its bandwidth is unknown."""
    if not _generates(profile):
        return None
    step_bytes = bytes_per_step(profile, estimate, workload)
    likely = tokens_per_second(profile, estimate, step_bytes, gpu)
    if likely is None:
        return None
    return _banded(likely, speed_class(estimate.engine.slug, gpu_class(gpu)).band)


def prefill_rate(profile: ModelProfile, estimate: MemoryEstimate, gpu: Gpu) -> Rate | None:
    """Prompt tokens/s: 2 FLOP per active parameter and token at a measured share of the peak."""
    peak = gpu.fp16_flops
    if peak is None or not _generates(profile):
        return None
    name = "geforce" if gpu.segment == "consumer" and gpu.vendor == "NVIDIA" else gpu_class(gpu)
    mfu, band = _prefill_classes()[name]
    cards = _effective_cards(estimate.split.tensor) / gpu.devices_per_board
    return _banded(peak * cards * mfu / (2 * profile.active_parameters), band)


def _generates(profile: ModelProfile) -> bool:
    return profile.architecture is not None and profile.architecture.generates


def _banded(likely: float, band: float) -> Rate:
    return Rate(*(_rounded(likely * factor) for factor in (1 - band, 1.0, 1 + band)))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
