"""Work and cards for tests of speeds."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.advice.ranking import Ranked
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.workload import Workload
from gpusizer.speed import ModelFacts, Rate, Speeds, Work
from gpusizer.speed.kernels import (
    Kernels,
)
from gpusizer.speed.tables import (
    Pace,
)
from tests.asking import size
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def card(name: str) -> Gpu:
    return SIZER.catalogue.find(name)


def on(model: str, gpu: str, quant: str, **fields: object) -> Ranked:
    return size(SIZER, {"model": model, "gpu": gpu, "quant": quant, **fields}).ranking[0]


def speeds_on(model: str, gpu: str, quant: str, **fields: object) -> Speeds:
    speeds = on(model, gpu, quant, **fields).speeds
    assert speeds is not None
    return speeds


def likely(rate: Rate | None) -> float:
    assert rate is not None
    return rate.likely


FACTS = ModelFacts(
    layers=32,
    running_layers=32,
    launched_layers=32,
    small_layers=0,
    expert_layers=0,
    sink_layers=0,
    delta_layers=0,
    hidden=4096,
    experts=0,
    experts_per_token=0,
    matrix_parameters=7 * 10**9,
    head_parameters=10**9,
    attention_flops=0.0,
    cache_bytes=10**9,
    state_bytes=0,
    query_heads=4.0,
    prompt=768,
    context=1024,
    users=1,
    workload=Workload(),
)
WORK = Work(
    facts=FACTS,
    engine="vllm",
    family="serving",
    format="16-bit",
    quant="bf16",
    dense_bytes=16 * 10**9,
    expert_bytes=0,
    bits=16.0,
    kernels=Kernels.for_workload(Workload(), ENGINES["vllm"].abilities),
    tensor=1,
    pipeline=1,
)
MOE = replace(
    WORK,
    facts=replace(FACTS, experts=128, experts_per_token=8, expert_layers=32),
    dense_bytes=2 * 10**9,
    expert_bytes=16 * 10**9,
)
PACE = Pace(efficiency=0.5, seconds_per_layer=1e-4, runs=1)
