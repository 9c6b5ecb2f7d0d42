"""The estimate that tests of llama.cpp's memory ask for."""

from __future__ import annotations

from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.engines.llama_cpp import CUDA
from gpusizer.memory.estimate import Estimator, MemoryEstimate
from gpusizer.memory.quants import find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from tests.builders import llama

LLAMA_8B = build_profile(llama())


def estimate(
    profile: ModelProfile = LLAMA_8B,
    quant: str = "q8_0",
    engine: str = "llama.cpp",
    gpus: int = 1,
    device_class: int = CUDA,
    **workload: object,
) -> MemoryEstimate:
    found_quant = find_quant(quant)
    estimator = Estimator(profile, Workload(**workload))  # type: ignore[arg-type]
    return estimator.estimate(
        found_quant,
        ENGINES[engine],
        weight_sizes(profile, found_quant, native=False),
        Split(pipeline=gpus),
        native=False,
        device_class=device_class,
    )
