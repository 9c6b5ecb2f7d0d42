"""Speeds of models with a part in system memory, against sums done by hand."""

from __future__ import annotations

import pytest

from gpusizer.advice.ranking import Ranked
from gpusizer.core.units import GB, GIB
from gpusizer.fit.fit import Verdict
from gpusizer.fit.machine import Machine
from gpusizer.fit.part_speed import (
    EXPERT_MEMORY_EFFICIENCY,
    HAND_OVER_SECONDS,
    LAYER_SECONDS,
    MEMORY_EFFICIENCY,
    system_memory,
)
from gpusizer.text import say_note
from tests.asking import size
from tests.speed_cases import LLAMA, SIZER, card, likely, on

MIXTURE = "Qwen/Qwen3-30B-A3B"
PART = {"engine": "llama.cpp", "context": 2048, "ram_gb_per_s": 100}


def rig(words: str, model: str = LLAMA, **fields: object) -> Ranked:
    report = size(SIZER, {"model": model, "rig": words, "quant": "q4_k_m", **fields})
    assert report.rig is not None
    return report.rig


def test_a_processor_reads_at_a_share_of_the_modules() -> None:
    """Llama-3.1-8B in Q4_K_M without a card: all but the input table and the cache of 512 tokens
    (67 MB) at 0.67 of 102.4 GB/s, 32 layers at 30 us. A Threadripper 3970X makes 16.8 tokens/s."""
    item = rig("64 GB RAM", ram_gb_per_s=102.4, context=512)
    arranged = item.fit.config.arranged
    assert arranged is not None and item.fit.verdict is Verdict.FITS
    read = 4.62e9 + 512 * 131_072
    seconds = read / MEMORY_EFFICIENCY / 102.4e9 + 32 * LAYER_SECONDS
    assert likely(item.decode) == pytest.approx(1 / seconds, rel=0.02)
    assert item.decode is not None and item.decode.low < 16.8 < item.decode.high
    assert [note.code for note in item.reasons] == ["ram_speed_stated"]


def test_every_layer_more_in_memory_makes_it_slower() -> None:
    rates = [
        likely(on(LLAMA, "4090", "q4_k_m", gpu_layers=layers, **PART).decode)
        for layers in (0, 8, 16, 24, 32, 33)
    ]
    assert rates == sorted(rates) and rates[-1] > 4 * rates[0]


def test_twice_the_bandwidth_halves_what_is_in_memory() -> None:
    """Ten layers of 32 on the card; the time of the others is inverse to the bandwidth but for
    30 us a layer."""
    fields = {**PART, "gpu_layers": 10}
    slow, fast, endless = (
        1 / likely(on(LLAMA, "4090", "q4_k_m", **{**fields, "ram_gb_per_s": gb}).decode)
        for gb in (50, 100, 10_000)
    )
    assert slow - endless == pytest.approx(2 * (fast - endless), rel=0.03)


def test_of_experts_in_memory_a_token_reads_those_it_chose() -> None:
    """48 layers of 128 experts, 8 of them read: 1/16 of their bytes at 0.55 of 100 GB/s.

    A token's state is handed over and back in each layer.
    """
    with_all = on(MIXTURE, "4090", "q4_k_m", cpu_moe=True, **PART)
    endless = on(MIXTURE, "4090", "q4_k_m", cpu_moe=True, **{**PART, "ram_gb_per_s": 10_000})
    experts = with_all.fit.estimate.sizes.decoding_experts
    reading = experts / 16 / EXPERT_MEMORY_EFFICIENCY
    expected = reading / 100e9 - reading / 10_000e9
    told = 1 / likely(with_all.decode) - 1 / likely(endless.decode)
    assert told == pytest.approx(expected, rel=0.03)
    assert 1 / likely(endless.decode) > 48 * HAND_OVER_SECONDS


@pytest.mark.parametrize(
    "model, gpu, fields, measured",
    [
        # experts of 36 layers in memory, quad-channel DDR4 measured at 102 GB/s
        ("Qwen/Qwen3-30B-A3B", "rtx-2080-8gb", {"ram_gb": 64, "ram_gb_per_s": 102}, 36.7),
        # all experts in memory, two channels of DDR5-6000
        ("Qwen/Qwen3.6-35B-A3B", "5070 ti", {"cpu_moe": True, "ram_gb_per_s": 96}, 51.0),
        # 28 layers of 36, two channels of DDR5-5600
        ("openai/gpt-oss-120b", "rx-6900-xt-16gb", {"ram_gb": 64, "ram_gb_per_s": 89.6}, 19.0),
    ],
)
def test_published_runs_lie_in_the_band(
    model: str, gpu: str, fields: dict[str, object], measured: float
) -> None:
    """AlexsJones/llmfit PR 755, and runs of r/LocalLLaMA; constants were set with them in view."""
    quant = "mxfp4_moe" if "gpt-oss" in model else "q4_k_m"
    rate = on(model, gpu, quant, engine="llama.cpp", context=2048, **fields).decode
    assert rate is not None and rate.low < measured < rate.high
    assert rate.high / rate.low < 2.5


def test_a_prompt_is_computed_on_the_card_from_32_tokens_on() -> None:
    """Weights in memory go up once for each batch: larger batches read prompts faster. Below 32 the
    processor computes, whatever the card."""
    rates = {
        tokens: likely(
            on(LLAMA, "4090", "q4_k_m", gpu_layers=10, ubatch_size=tokens, **PART).prefill
        )
        for tokens in (16, 128, 512)
    }
    assert rates[16] < rates[128] < rates[512]
    slow_card = on(LLAMA, "3060", "q4_k_m", gpu_layers=10, ubatch_size=16, **PART).prefill
    assert likely(slow_card) == rates[16]


def test_what_is_read_from_the_disk_is_slower_than_its_bound() -> None:
    item = rig("3090 + 64 GB", "deepseek-ai/DeepSeek-R1", context=4096)
    arranged = item.fit.config.arranged
    assert item.fit.verdict is Verdict.FROM_DISK and arranged is not None and arranged.disk
    bound = arranged.disk.most_tokens_per_second
    assert item.decode is not None and bound is not None and item.decode.likely < bound
    assert item.prefill is None


@pytest.mark.parametrize(
    "words, kind",
    [
        ("4090 + 64 GB", "desktop"),
        ("64 GB RAM", "desktop"),
        ("4090 + 256 GB", "workstation"),
        ("3x 3090 + 128 GB", "workstation"),
        ("RTX A6000 + 64 GB", "workstation"),
        ("H100 SXM + 64 GB", "server"),
        ("4090 + 1 TB", "server"),
    ],
)
def test_the_kind_of_machine_sets_the_band(words: str, kind: str) -> None:
    fields = {"model": LLAMA, "rig": words}
    report = size(SIZER, fields)
    assert report.rig is not None
    memory = system_memory(report.rig.fit.config.machine)
    assert memory.kind == kind
    assert memory.band.high / memory.band.low < 3.1


def test_stated_bandwidth_has_no_band() -> None:
    machine = Machine.with_boards(card("4090"), 1, 64 * GIB, ram_bytes_per_second=96 * GB)
    memory = system_memory(machine)
    assert (memory.kind, memory.bytes_per_second) == ("stated", 96e9)
    assert say_note(memory.note).endswith("96 GB/s, as stated.")


def test_plans_in_part_have_a_speed() -> None:
    item = on("meta-llama/Llama-3.3-70B-Instruct", "4090", "q4_k_m", engine="llama.cpp")
    (layers,) = [plan for plan in item.plans if plan.kind == "offload_layers"]
    assert layers.decode is not None and 0.5 < layers.decode.likely < 10
