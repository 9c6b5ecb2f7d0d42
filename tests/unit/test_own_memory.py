"""Memory that is really free on a card: how it is written, and what follows for fits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import InvalidRequest, UnknownGpu
from gpusizer.core.units import GB, GIB, MIB
from gpusizer.fit.fit import Verdict
from gpusizer.fit.machine import Machine
from gpusizer.fit.run_config import RunConfig, usable_memory
from gpusizer.fit.run_configs import config_on_gpus
from gpusizer.fit.study import QuantOption, Study
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.own_memory import (
    NOTHING_STATED,
    FreeMemory,
    split_memory,
    with_memory,
)
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.engines.base import FreeRule
from gpusizer.memory.estimate import UsableMemory, room_of
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.workload import Workload
from gpusizer.text import LANGUAGES, say_error, say_note
from tests.asking import size
from tests.fits import fit_on
from tests.launch_plans import command_of
from tests.sizers import embedded_sizer
from tests.vllm_models import LLAMA_8B

CATALOGUE = load_catalogue()
CARDS = UserGpus(CATALOGUE)
RTX_4090 = CARDS.find("4090")  # 24,564 MiB; PyTorch sees less
CONTEXT_BYTES = round(0.70 * GIB)  # the most that a CUDA context takes


@pytest.mark.parametrize(
    "text, name, memory",
    [
        ("4090", "4090", NOTHING_STATED),
        ("4090 (20.5 GB free)", "4090", FreeMemory(free_bytes=20_500_000_000)),
        ("RTX 4090 (AD102)", "RTX 4090 (AD102)", NOTHING_STATED),
        ("4090 (20992MiB usable)", "4090", FreeMemory(free_bytes=20992 * MIB)),
        ("4090（3.5GiB 已用）", "4090", FreeMemory(used_bytes=round(3.5 * GIB))),
        ("4090 (3500 MB usados)", "4090", FreeMemory(used_bytes=3_500_000_000)),
    ],
)
def test_free_memory_stands_after_the_name(text: str, name: str, memory: FreeMemory) -> None:
    assert split_memory(text) == (name, memory)


@pytest.mark.parametrize("text", ["4090 (20.5 free)", "4090 (free 20 GB)", "4090 (20 GB free) x"])
def test_other_forms_are_refused_and_not_passed_over(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find(text)
    assert refused.value.fields["reason"] == "free_memory_form"
    for language in ("en", "zh", "pt"):
        assert "20.5 GB free" in say_error(refused.value, language)


def test_a_card_has_no_more_free_than_its_memory() -> None:
    """The label of 24 GB read in binary, 25.8 GB, is the most; nothing at all is no card."""
    for text in ("4090 (26 GB free)", "4090 (30 GB used)", "4090 (0 GB free)"):
        with pytest.raises(InvalidRequest) as refused:
            CARDS.find(text)
        assert refused.value.fields["high"] == 25.8
    assert CARDS.find("4090 (25.7 GB free)").free_bytes == 25_700_000_000


def test_used_memory_is_subtracted_from_what_pytorch_sees() -> None:
    gpu = CARDS.find("4090 (3.5 GB used)")
    assert gpu.free_bytes == RTX_4090.device_torch_memory_bytes - 3_500_000_000
    assert (gpu.slug, gpu.memory_bytes) == (RTX_4090.slug, RTX_4090.memory_bytes)
    assert [note.code for note in gpu.statements] == ["card_memory_free"]


def test_a_mac_s_limit_is_moved_and_a_graphics_card_s_is_not() -> None:
    """Three quarters of 128 GiB are macOS' default; 120,000 MiB are what iogpu.wired_limit_mb says.

    Raised, the limit is the new total; lowered or not, nothing beyond the memory is accepted.
    """
    default = CARDS.find("m3 max 128gb")
    raised = CARDS.find("m3 max 128gb (120000 MiB free)")
    assert default.device_free_bytes == 96 * GIB
    assert raised.memory_bytes == raised.device_free_bytes == 120_000 * MIB
    assert raised.statements[0].fields["mib"] == 120_000
    assert CARDS.find("m3 max 128gb (64 GiB free)").device_free_bytes == 64 * GIB
    with pytest.raises(InvalidRequest):
        CARDS.find("m3 max 128gb (129 GiB free)")
    assert CARDS.find("ryzen ai max+ 395 128gb (110 GiB free)").memory_bytes == 110 * GIB


def test_what_a_card_s_own_text_says_goes_before_the_field() -> None:
    cards = UserGpus(CATALOGUE, FreeMemory(used_bytes=5 * GB))
    assert cards.find("4090 (20 GB free)").free_bytes == 20 * GB
    assert cards.find("4090").free_bytes == RTX_4090.device_torch_memory_bytes - 5 * GB
    assert with_memory(RTX_4090, FreeMemory(used_bytes=0)) is RTX_4090


def test_strangers_describe_no_cards() -> None:
    """Names in model cards, logs and profiles are looked up in the catalogue alone."""
    for text in ("custom:96GB@1800GB/s", "custom:fast"):
        with pytest.raises(UnknownGpu):
            CATALOGUE.find(text)
    assert CATALOGUE.find("RTX 4090 (20 free)") is RTX_4090


def test_room_by_the_rule_of_the_engine() -> None:
    """24 GB with 20 GB free, under three rules.

    A share of the free: 0.9 x 20. vLLM: at start 20 - 0.5 are free, which are 81.25 %, so 81 %;
    90 % are 21.6, and 2.1 of them are missing. Before 0.9.1: 21.6 less the 4 that others hold.
    """
    size: dict[str, Any] = {"memory_bytes": 24 * GB, "free_bytes": 20 * GB}
    checked = FreeRule("checked_at_start", GB // 2)
    assert room_of(FreeRule(), 0.9, stated=True, **size) == UsableMemory(20 * GB, 18 * GB, 0.9)
    assert room_of(checked, 0.9, stated=False, **size) == UsableMemory(
        20 * GB, 19_440_000_000, 0.81
    )
    assert room_of(checked, 0.9, stated=True, **size) == UsableMemory(
        20 * GB, 21_600_000_000, 0.9, 2_100_000_000
    )
    subtracted = room_of(FreeRule("others_subtracted"), 0.9, stated=False, **size)
    assert subtracted == UsableMemory(20 * GB, 17_600_000_000, 0.9)
    whole = room_of(checked, 0.9, stated=True, memory_bytes=24 * GB, free_bytes=None)
    assert whole == UsableMemory(24 * GB, 21_600_000_000, 0.9)


def _way(gpu: Gpu, **fields: Any) -> RunConfig:
    native = native_quant(LLAMA_8B)
    study = Study(LLAMA_8B, Workload(**fields), [(native, True)])
    config = config_on_gpus(
        study, Machine.with_boards(gpu), QuantOption(native, True, ENGINES["vllm"])
    )
    assert config is not None
    return config


def test_vllm_lowers_its_default_share_and_refuses_one_that_was_asked_for() -> None:
    gpu = CARDS.find("4090 (20 GB free)")
    total = gpu.device_torch_memory_bytes
    share = int((20 * GB - CONTEXT_BYTES) / total * 100) / 100
    lowered = _way(gpu).estimate
    assert usable_memory(gpu, lowered).utilization == share < 0.92
    asked = _way(gpu, memory_utilization=0.9)
    short = -(-total * 9 // 10) - (20 * GB - CONTEXT_BYTES)
    assert abs(usable_memory(gpu, asked.estimate).refused_bytes - short) <= 1
    assert asked.headroom_bytes <= -short + 1
    assert asked.verdict is Verdict.DOES_NOT_FIT
    older = _way(gpu, engine_version="0.8.5").estimate
    assert older.free_rule.kind == "others_subtracted"


def test_the_command_names_the_share_that_vllm_starts_with() -> None:
    fields = {"model": "Qwen/Qwen3-8B", "quant": "native", "engine": "vllm", "card": False}
    report = size(embedded_sizer(), {**fields, "gpu": "4090 (20.5 GB free)"})
    ranked = report.ranking[0]
    assert "--gpu-memory-utilization 0.78" in command_of(report).text
    codes = [note.code for note in ranked.reasons]
    assert {"card_memory_free", "utilization_lowered"} <= {*codes}


def test_a_refused_share_has_a_remedy() -> None:
    fields = {"model": "Qwen/Qwen3-8B", "quant": "native", "engine": "vllm", "card": False}
    report = size(
        embedded_sizer(), {**fields, "gpu": "4090", "usable_gb": 20.5, "memory_utilization": 0.9}
    )
    ranked = report.ranking[0]
    assert ranked.fit.verdict is Verdict.DOES_NOT_FIT
    assert "utilization_refused" in [note.code for note in ranked.reasons]
    remedy = next(s for s in ranked.advice if s.note.code == "try_lower_utilization")
    assert remedy.enough and remedy.change == {"memory_utilization": 0.78}


@settings(max_examples=40, deadline=None)
@given(
    engine=st.sampled_from(["vllm", "sglang", "tensorrt-llm", "tgi", "llama.cpp", "transformers"]),
    version=st.sampled_from([None, "0.8.5"]),
    share=st.sampled_from([None, 0.5, 0.9]),
    used_mib=st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)),
)
def test_more_used_memory_never_fits_more(
    engine: str, version: str | None, share: float | None, used_mib: tuple[int, int]
) -> None:
    """Headroom, cautious or not, and the pool never grow with what other programs hold."""
    less, more = sorted(used_mib)
    quant = find_quant("q8_0") if engine == "llama.cpp" else native_quant(LLAMA_8B)
    workload = Workload(
        memory_utilization=share, engine_version=version if engine == "vllm" else None
    )
    study = Study(LLAMA_8B, workload, [(native_quant(LLAMA_8B), True)])
    fits = [
        fit_on(study, gpu, 1, quant, engine != "llama.cpp", ENGINES[engine])
        for gpu in (
            RTX_4090,
            with_memory(RTX_4090, FreeMemory(used_bytes=less * MIB)),
            with_memory(RTX_4090, FreeMemory(used_bytes=more * MIB)),
        )
    ]
    found = [fit for fit in fits if fit is not None]
    assert len(found) == 3
    for free, held in pairwise(found):
        assert held.headroom_bytes <= free.headroom_bytes
        assert held.kv_pool_bytes <= free.kv_pool_bytes
        assert held.verdict.place >= free.verdict.place


def test_memory_in_use_counts_on_every_card_of_a_ranking() -> None:
    """The more is in use the less each card has to spare, and the fewer hold the model."""
    sizer, slug = embedded_sizer(), "rtx-4090-24gb"
    fields = {"model": "Qwen/Qwen3-8B", "card": False, "top": 0, "quant": "q4_k_m"}
    in_use = (0, 1.5, 4, 12)
    reports = [size(sizer, {**fields, "used_gb": gb, "tensor_parallel": 1}) for gb in in_use]
    fits = [{item.fit.gpu.slug: item.fit for item in sized.ranking} for sized in reports]
    assert all(set(more) < set(less) for less, more in pairwise(fits))
    spare = [fit[slug].headroom_bytes for fit in fits]
    assert spare == sorted(spare, reverse=True)
    assert "rtx-3070-8gb" in fits[0] and "rtx-3070-8gb" not in fits[2]
    for gb, sized, fit in zip(in_use[1:], reports[1:], fits[1:], strict=True):
        (note,) = (note for note in sized.notes if note.code == "used_memory_everywhere")
        assert note.fields["used_bytes"] == gb * GB
        assert all(say_note(note, language) for language in LANGUAGES)
        assert fit[slug].gpu.name.endswith("GB free)")
        named = size(sizer, {**fields, "gpu": "1x4090", "used_gb": gb})
        assert named.ranking[0].fit.headroom_bytes == fit[slug].headroom_bytes
    assert "used_memory_everywhere" not in [note.code for note in reports[0].notes]
