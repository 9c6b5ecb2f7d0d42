"""Machines of mixed cards: their notation, what runs on them, and the share of each device."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, InvalidRequest, UnknownGpu
from gpusizer.core.units import GIB
from gpusizer.fit.machine import SYSTEM_BYTES, build_machine
from gpusizer.fit.machine_parser import MachineWords, is_rig, parse_rig
from gpusizer.fit.placement.arrangement import arrange
from gpusizer.fit.placement.device_shares import Load
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.engines.llama_layers import shared_stages, stages
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.text import say_error
from tests.asking import size
from tests.builders import llama, llama_70b
from tests.documents import written
from tests.families import gemma3_1b, qwen3_moe
from tests.machines import Planned, planned
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
LLAMA_8B = build_profile(llama())
MODELS = [build_profile(make()) for make in (llama, gemma3_1b, qwen3_moe, llama_70b)]
# Q8_0 is 34 bytes for 32 weights: 218,103,808 in a layer, and two norms in FP32.
LAYER = 218_103_808 * 34 // 32 + 2 * 4096 * 4
OUTPUT = 128_256 * 4096 * 34 // 32 + 4096 * 4
EMBEDDING = 128_256 * 4096 * 34 // 32
LAYER_CACHE = 8192 * 4096  # 2 x 8 heads x 128 x 2 bytes a token


def plan(rig: str, profile: ModelProfile = LLAMA_8B, quant: str = "q8_0", **fields: Any) -> Planned:
    return planned(Study(profile, Workload(**fields), [(find_quant(quant), False)]), rig)


@pytest.mark.parametrize(
    "text, cards, ram_gib",
    [
        ("rtx 3090 + 2x rtx 3060 + 64gb ram", ("rtx 3090", "rtx 3060", "rtx 3060"), 64),
        ("3090, 3060 12GB and 64 GB of system memory", ("3090", "3060 12GB"), 64),
        ("4090 x2 + 2x32gb ddr5", ("4090", "4090"), 64),
        ("RAM 128G", (), 128),
        ("1.5TB RAM", (), 1536),
        ("cpu only + 32gb ram", (), 32),
        ("7900 xtx", ("7900 xtx",), None),
        ("3090 + 64GB内存", ("3090",), 64),
        ("3090 e 64gb de memória", ("3090",), 64),
    ],
)
def test_machines_are_parsed(text: str, cards: tuple[str, ...], ram_gib: int | None) -> None:
    parsed = parse_rig(text)
    assert parsed == MachineWords(cards, None if ram_gib is None else ram_gib * GIB)


def test_mixed_gpus_and_memory_are_a_machine() -> None:
    assert is_rig("3090 + 3060")
    assert is_rig("64gb ram")
    assert not is_rig("2x rtx 3090")
    assert not is_rig("m3 max 128gb")


@pytest.mark.parametrize(
    "text, error, reason",
    [
        ("", InvalidRequest, "rig_empty"),
        ("3090 + ram", InvalidRequest, "ram_amount"),
        ("3090 3060 64gb ram", InvalidRequest, "rig_separator"),
        ("17x 3090", InvalidRequest, "out_of_range"),
        ("3090 + 900000gb ram", InvalidRequest, "out_of_range"),
        ("3090 + 9999 turbo", UnknownGpu, None),
        ("m3 max 128gb + 3090", InvalidRequest, "rig_apple_alone"),
        ("2x m3 max 128gb", InvalidRequest, "rig_apple_alone"),
        ("3090 + mi300x", InvalidRequest, "rig_no_vulkan"),
        ("ascend 910b + 3090", InvalidRequest, "rig_no_vulkan"),
        ("tpu v5e + 3090", InvalidRequest, "rig_not_supported"),
    ],
)
def test_impossible_machines_are_refused(
    text: str, error: type[GpusizerError], reason: str | None
) -> None:
    with pytest.raises(error) as refused:
        build_machine(parse_rig(text), CATALOGUE)
    assert refused.value.fields.get("reason") == reason
    assert refused.value.exit_code == 2
    assert "{" not in say_error(refused.value)


def test_builds_of_llama_cpp() -> None:
    def backend(text: str) -> str:
        return build_machine(parse_rig(text), CATALOGUE).backend

    assert backend("3060 + 4090") == "CUDA"
    assert backend("7900 xtx + mi50 32gb") == "ROCm"
    assert backend("3090 + 7900 xtx + arc a770") == "Vulkan"
    assert backend("2x ascend 910b") == "CANN"
    assert backend("64gb ram") == "CPU"
    assert backend("cpu only") == "CPU"
    faster = build_machine(parse_rig("3060 + 4090"), CATALOGUE)
    assert [gpu.slug for gpu in faster.gpus] == ["rtx-4090-24gb", "rtx-3060-12gb"]
    assert (
        len(build_machine(parse_rig("instinct mi250"), CATALOGUE).gpus) == 2
    )  # two devices on a board


def test_layers_follow_free_memory() -> None:
    """24 GiB and 12 GiB, 32 layers and the output: the second card starts at slot
    ceil(33 x 24 / 36) = 22 and gets 10 layers and the output."""
    arranged_plan = plan("3060 12gb + 3090 + 64gb ram")
    first, second = arranged_plan.arranged.devices
    assert (first.layers, first.output, second.layers, second.output) == (22, False, 10, True)
    assert first.weights.likely == 22 * LAYER
    assert second.weights.likely == 10 * LAYER + OUTPUT
    assert (first.kv_cache.likely, second.kv_cache.likely) == (22 * LAYER_CACHE, 10 * LAYER_CACHE)
    assert arranged_plan.arranged.host.weights.likely == EMBEDDING
    assert (arranged_plan.verdict, arranged_plan.arranged.default) == (Verdict.FITS, True)
    assert arranged_plan.flags == ("-c", "8192", "-ngl", "33")
    assert [verdict.value for verdict in arranged_plan.arranged.verdicts] == ["fits", "fits"]


def test_equal_cards_share_as_they_always_did() -> None:
    for layers, gpus in ((32, 2), (61, 3), (80, 7)):
        assert shared_stages(layers, None, (5,) * gpus) == stages(layers, None, gpus)


@settings(max_examples=200)
@given(
    shares=st.lists(st.integers(1, 80), min_size=1, max_size=5),
    layers=st.integers(1, 100),
    data=st.data(),
)
def test_the_split_is_the_one_in_llama_cpp(
    shares: list[int], layers: int, data: st.DataObject
) -> None:
    """load_tensors: upper_bound of slot / slots in the running shares, in single precision."""
    slots = data.draw(st.integers(1, layers + 1))

    def single(value: float) -> float:
        return float(struct.unpack("f", struct.pack("f", value))[0])

    running = [single(sum(shares[: n + 1]) / sum(shares)) for n in range(len(shares))]
    expected = [0] * len(shares)
    for slot in range(slots):
        place = next(n for n, edge in enumerate(running) if edge > single(slot / slots))
        expected[place] += 1
    stages = shared_stages(layers, slots, tuple(shares))
    assert [part.end - part.first + part.output for part in stages] == expected


def test_layers_dealt_out_to_fill_each_card() -> None:
    """24 GiB + 4 GiB and 81,920 tokens: 320 MiB of cache and 221 MiB of weights a layer.

    By free memory the small card gets slots from ceil(33 x 24 / 28) = 29 on: three layers and the
    output, 2.2 GiB beside buffers for 81,920 tokens. All of it fits the large card alone.
    """
    stages = plan("3090 + gtx 1650 4gb + 64gb ram", context=81_920)
    default = shared_stages(32, 33, (24, 4))
    assert (default[1].first, default[1].output) == (29, True)
    assert (stages.verdict, stages.arranged.default) == (Verdict.FITS, False)
    assert stages.arranged.how.split == (33, 0)
    assert stages.flags == ("-c", "81920", "-ngl", "33", "-ts", "33,0")
    assert "rig_split_tuned" in [note.code for note in stages.notes]
    large = stages.arranged.devices[0]
    assert large.weights.likely == 32 * LAYER + OUTPUT
    assert large.kv_cache.likely == 32 * 10 * LAYER_CACHE


@pytest.mark.parametrize(
    ("kv_dtype", "switches"),
    [
        ("fp16", ()),
        ("f16/auto", ()),
        ("bfloat16", ("-ctk", "bf16", "-ctv", "bf16")),
        ("q8_0/fp16", ("-ctk", "q8_0", "-ctv", "f16")),
    ],
)
def test_cache_switches_name_types_of_llama_cpp(kv_dtype: str, switches: tuple[str, ...]) -> None:
    rig_plan = plan("3090 + 3060 12gb + 64gb ram", kv_dtype=kv_dtype)
    assert rig_plan.flags == ("-c", "8192", "-ngl", "33", *switches)


def test_a_cache_that_llama_cpp_lacks_is_not_supported() -> None:
    rig_plan = plan("3090 + 3060 12gb + 64gb ram", kv_dtype="fp8")
    assert rig_plan.verdict is Verdict.NOT_SUPPORTED
    assert "engine_lacks_cache" in {note.code for note in rig_plan.notes}


def test_too_little_system_memory_leaves_zero_bytes() -> None:
    """Less memory than the operating system takes leaves 0 bytes, never a negative amount."""
    ram = plan("3090 + 2gb ram").to_json()["ram"]
    assert ram["total_bytes"] == EMBEDDING
    assert ram["headroom_bytes"] == -EMBEDDING


def test_experts_of_as_few_layers_as_possible_stay_in_memory() -> None:
    moe = MODELS[2]
    arranged_plan = plan("3060 12gb + 64gb ram", moe, "q4_k_m")
    expert_layers = arranged_plan.arranged.how.cpu_experts
    assert arranged_plan.verdict is Verdict.OFFLOAD
    assert arranged_plan.arranged.how.gpu_layers == 49
    assert arranged_plan.flags[-2:] == ("--n-cpu-moe", str(expert_layers))
    load = Load(
        moe, Workload(), arranged_plan.machine, ENGINES["llama.cpp"], arranged_plan.estimate
    )
    fewer = replace(arranged_plan.arranged.how, cpu_experts=expert_layers - 1)
    assert (
        load.shares(arranged_plan.arranged.how)[0].total.high
        <= 12 * GIB
        < load.shares(fewer)[0].total.high
    )
    # 128 experts x 3 x 2048 x 768 a layer; what is not on the card is in memory
    on_card = arranged_plan.arranged.devices[0].weights.likely
    assert (
        on_card + arranged_plan.arranged.host.weights.likely == arranged_plan.estimate.sizes.total
    )


def test_too_large_for_the_cards_and_the_memory() -> None:
    """70B in Q8_0 is 75 GB: 24 GiB of card and 32 GiB of memory do not hold it, 128 GiB do."""
    assert plan("3090 + 32gb ram", MODELS[3]).verdict is Verdict.FROM_DISK
    roomy = plan("3090 + 128gb ram", MODELS[3])
    assert roomy.verdict is Verdict.OFFLOAD
    unsaid = plan("3090", MODELS[3])
    assert unsaid.verdict is Verdict.OFFLOAD
    assert {"rig_ram_unknown", "rig_needs_ram"} <= {note.code for note in unsaid.notes}
    assert roomy.decode is not None and roomy.decode.high < 5 * roomy.decode.low


def test_a_machine_without_gpus_runs_in_memory() -> None:
    """No card: all 32 layers, their cache, output and embedding in system memory."""
    arranged_plan = plan("32gb ram")
    host = arranged_plan.arranged.host
    assert arranged_plan.verdict is Verdict.FITS
    assert (arranged_plan.arranged.how.gpu_layers, host.layers, arranged_plan.machine.backend) == (
        0,
        32,
        "CPU",
    )
    assert host.weights.likely == 32 * LAYER + OUTPUT + EMBEDDING
    assert host.kv_cache.likely == 32 * LAYER_CACHE
    assert plan("8gb ram").verdict is Verdict.FROM_DISK
    assert SYSTEM_BYTES == 4 * GIB


def test_a_mac_has_one_memory() -> None:
    rig_plan = plan("m3 max 128gb + 64gb ram", MODELS[3])
    assert rig_plan.verdict is Verdict.FITS
    assert rig_plan.to_json()["ram"] is None
    assert "rig_shared_memory" in [note.code for note in rig_plan.notes]
    assert plan("m3 max 36gb", MODELS[3]).verdict is Verdict.DOES_NOT_FIT


def test_unlike_cards_work_one_after_the_other() -> None:
    """Half on each of two cards that alone make a and b tokens/s: 2ab / (a + b)."""
    mixed, fast, slow = plan("3090 + 3060 12gb"), plan("3090"), plan("3060 12gb", context=2048)
    assert mixed.decode is not None
    assert fast.decode is not None
    assert slow.decode is not None
    assert slow.decode.likely < mixed.decode.likely < fast.decode.likely


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_layer_is_on_one_device_and_memory_is_not_pooled(data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from(MODELS))
    cards = data.draw(
        st.lists(
            st.sampled_from(["3090", "3060 12gb", "4090", "gtx 1650 4gb"]), min_size=0, max_size=3
        )
    )
    ram = data.draw(st.sampled_from([16, 64, 256]))
    rig = build_machine(MachineWords(tuple(cards), ram * GIB), CATALOGUE)
    workload = Workload(
        context=data.draw(st.sampled_from([512, 8192, 32_768])),
        concurrency=data.draw(st.integers(1, 4)),
    )
    study = Study(profile, workload, [(find_quant("q4_k_m"), False)])
    engine = ENGINES["llama.cpp"]
    estimate = study.estimate(find_quant("q4_k_m"), False, engine, Split(), rig.device_class)
    if rig.is_uniform:
        return  # equal devices share evenly: the ordinary case
    arranged_plan = arrange(Load(profile, workload, rig, engine, estimate))
    shares = [*arranged_plan.devices, arranged_plan.host]
    assert sum(share.weights.likely for share in shares) == estimate.sizes.total
    assert profile.architecture is not None
    assert sum(share.layers for share in shares) == profile.architecture.layers
    assert sum(share.output for share in shares) == 1
    if arranged_plan.verdict is Verdict.FITS or arranged_plan.verdict is Verdict.OFFLOAD:
        for share, gpu in zip(arranged_plan.devices, rig.gpus, strict=False):
            assert share.total.likely <= gpu.device_memory_bytes
        assert arranged_plan.host.total.likely <= ram * GIB - SYSTEM_BYTES


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"model": "Qwen/Qwen3-8B", "engine": "vllm"}, "engine_needs_one_kind"),
        ({"model": "Qwen/Qwen3-8B", "quant": "awq-int4-g128"}, "engine_needs_one_kind"),
        ({"model": "black-forest-labs/FLUX.1-dev"}, "engine_needs_one_kind"),
    ],
)
def test_unlike_cards_run_what_llama_cpp_runs(fields: dict[str, Any], reason: str) -> None:
    rig = written(size(embedded_sizer(), {**fields, "rig": "3090 + 3060 + 64gb ram"}))["rig"]
    assert rig["verdict"] == "not_supported"
    assert reason in [note["code"] for note in rig["notes"]]
