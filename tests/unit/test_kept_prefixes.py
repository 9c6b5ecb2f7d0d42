"""System memory for the cache of earlier prompts: what engines pin, and where it must fit."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import GB, GIB
from gpusizer.fit.machine import SYSTEM_BYTES
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.memory.engines.kept_prefixes import hicache_gb, offloading_gib, prefix_bytes
from gpusizer.memory.workload import Workload
from tests.asking import size
from tests.documents import written
from tests.launch_plans import command_of
from tests.sizers import embedded_sizer

FIELDS = {"model": "Qwen/Qwen3-32B", "quant": "bf16", "gpu": "2x h100 sxm", "engine": "vllm"}


def ask(**more: Any) -> Any:
    return size(embedded_sizer(), {**FIELDS, **more})


def kept(engine: str, gb: float, split: Split) -> int:
    kind = ENGINES[engine].abilities.prefix_memory
    return prefix_bytes(kind, Workload(kv_offload_gb=gb), split)


def test_vllm_takes_one_size_for_all_ranks_of_a_copy() -> None:
    two_copies = Split(tensor=4, data=2, expert=8)
    assert offloading_gib(Workload(kv_offload_gb=100.0), Split(tensor=4, pipeline=2)) == 100
    assert offloading_gib(Workload(kv_offload_gb=100.0), two_copies) == 50
    assert kept("vllm", 100.0, two_copies) == 107_374_182_400


def test_sglang_takes_whole_gigabytes_for_each_rank() -> None:
    """100 GiB are 107.37 GB: 53 for each of two ranks, 13 for each of eight."""
    workload = Workload(kv_offload_gb=100.0)
    assert [hicache_gb(workload, split) for split in (Split(2), Split(4, 2))] == [53, 13]
    assert kept("sglang", 100.0, Split(2)) == 106 * GB
    assert kept("sglang", 100.0, Split(4, 2)) == 104 * GB
    assert kept("sglang", 2.0, Split(8)) == 8 * GB, "0 would mean twice the cache of the GPU"


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_pinned_unless_asked_for(engine: str) -> None:
    assert kept(engine, 0.0, Split(2)) == 0
    if engine not in ("vllm", "sglang"):
        assert kept(engine, 100.0, Split(2)) == 0


def test_the_answer_names_what_is_pinned_and_the_command_asks_for_it() -> None:
    report = ask(kv_offload_gb=100)
    answer = written(report)
    assert answer["estimates"][0]["kv_offload_bytes"] == 100 * GIB
    assert answer["workload"]["kv_offload_gb"] == 100
    text = command_of(report).text
    assert "--kv-offloading-size 100 \\\n  --kv-offloading-backend native" in text
    said = [note.fields for note in report.notes if note.code == "prefixes_kept"]
    assert said == [{"ram_bytes": 100 * GIB, "engine": "vLLM"}]


def test_no_longer_context_comes_from_it() -> None:
    with_it, without = ask(kv_offload_gb=500).ranking[0], ask().ranking[0]
    assert with_it.longest_context == without.longest_context
    assert with_it.fit.estimate.per_gpu == without.fit.estimate.per_gpu


def test_a_stated_machine_must_hold_it() -> None:
    enough = 100 + SYSTEM_BYTES // GIB
    fits, lacks = (ask(kv_offload_gb=100, ram_gb=gb).ranking[0] for gb in (enough, enough - 1))
    assert fits.fit.verdict is Verdict.FITS
    assert lacks.fit.verdict is Verdict.DOES_NOT_FIT
    assert lacks.fit.config.headroom_bytes == -GIB
    assert [n.fields for n in lacks.reasons if n.code == "rig_needs_ram"] == [
        {"ram_bytes": 100 * GIB}
    ]


def test_a_rig_counts_it_beside_its_weights() -> None:
    fields = {"gpu": "", "rig": "2x h100 sxm + 256 gb ram"}
    ram = written(ask(**fields, kv_offload_gb=100))["rig"]["ram"]
    assert (ram["weights_bytes"], ram["kv_cache_bytes"]) == (0, 100 * GIB)
    assert ram["headroom_bytes"] == 156 * GIB - SYSTEM_BYTES
    assert "kv_cache_bytes" not in written(ask(**fields))["rig"]["ram"]


def test_shared_memory_holds_it_beside_the_share() -> None:
    """vLLM takes 0.92 of a GB10's 122 GiB, which leaves no room for 40 more."""
    fields = {"model": "Qwen/Qwen3-8B", "gpu": "gb10"}
    assert ask(**fields, kv_offload_gb=40).ranking[0].fit.verdict is Verdict.DOES_NOT_FIT
    smaller = ask(**fields, kv_offload_gb=40, memory_utilization=0.5).ranking[0]
    assert smaller.fit.verdict is Verdict.FITS


@pytest.mark.parametrize("more", [{"engine": None}, {"engine": "llama.cpp", "quant": "q8_0"}])
def test_it_takes_an_engine_that_keeps_prefixes(more: dict[str, Any]) -> None:
    report = ask(**more, kv_offload_gb=100)
    assert "prefixes_need_an_engine" in {note.code for note in report.notes}
    assert report.workload.kv_offload_gb == 0
    assert "kv_offload_bytes" not in written(report)["estimates"][0]
