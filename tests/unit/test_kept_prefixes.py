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
from gpusizer.text import LANGUAGES, Language, say_note
from tests.asking import models_for, size
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
    assert said == [{"engine": "vLLM"}]


def test_no_longer_context_comes_from_it() -> None:
    with_it, without = ask(kv_offload_gb=500).ranking[0], ask().ranking[0]
    assert with_it.longest_context == without.longest_context
    assert with_it.fit.estimate.per_gpu == without.fit.estimate.per_gpu


def test_a_stated_machine_must_hold_it() -> None:
    enough = 100 + SYSTEM_BYTES // GIB
    fits, lacks = (ask(kv_offload_gb=100, ram_gb=gb).ranking[0] for gb in (enough, enough - 1))
    assert fits.fit.verdict is Verdict.FITS
    assert lacks.fit.verdict is Verdict.DOES_NOT_FIT
    assert lacks.fit.config.headroom_bytes == fits.fit.config.headroom_bytes > 0
    assert lacks.fit.config.missing_bytes == GIB
    assert [n.fields for n in lacks.reasons if n.code == "rig_needs_ram"] == [
        {"ram_bytes": 100 * GIB}
    ]


def test_sentences_name_the_memory_that_is_short() -> None:
    report = ask(kv_offload_gb=100, ram_gb=56)
    place, said = report.ranking[0], "48.0 GiB"
    assert place.reasons[0].code == "verdict_lacks_ram"
    assert place.fit.config.ram_bytes == 100 * GIB
    for language, words in {"en": "system memory", "zh": "系统内存", "pt": "memória"}.items():
        for note in (place.reasons[0], report.conclusion.said[0]):
            text = say_note(note, language).replace(",0 ", ".0 ")
            assert words in text and said in text, text


def test_experts_that_memory_lacks_are_not_said_to_be_too_large_for_the_gpu() -> None:
    fields = {"model": "Qwen/Qwen3-30B-A3B", "gpu": "4090", "quant": "q8_0", "cpu_moe": True}
    report = size(embedded_sizer(), {**fields, "engine": "llama.cpp", "ram_gb": 16})
    place = report.ranking[0]
    assert place.fit.verdict is Verdict.OFFLOAD
    assert place.reasons[0].code == "verdict_less_in_ram"


def test_each_machine_holds_the_prefixes_of_its_ranks() -> None:
    """16 H100 are two machines: 200 GiB are 100 in each."""
    need = 100 + SYSTEM_BYTES // GIB
    places = [
        ask(gpu="16x h100 sxm", kv_offload_gb=200, ram_gb=gb).ranking[0] for gb in (need, need - 1)
    ]
    assert [place.fit.verdict for place in places] == [Verdict.FITS, Verdict.DOES_NOT_FIT]
    assert places[1].fit.config.missing_bytes == GIB


def test_sglang_leaves_memory_of_the_host_free() -> None:
    """The system has 4 of 64 GiB and SGLang leaves 10: 2 x 26 GB are 48.4 GiB, 2 x 29 GB 54."""
    fits, lacks = (ask(engine="sglang", kv_offload_gb=gb, ram_gb=64).ranking[0] for gb in (50, 55))
    assert fits.fit.verdict is Verdict.FITS
    assert lacks.fit.verdict is Verdict.DOES_NOT_FIT
    assert lacks.fit.config.missing_bytes == 2 * 29 * GB + 10 * GIB - 60 * GIB


def test_a_rig_counts_it_beside_its_weights() -> None:
    fields = {"gpu": "", "rig": "2x h100 sxm + 256 gb ram"}
    ram = written(ask(**fields, kv_offload_gb=100))["rig"]["ram"]
    assert (ram["weights_bytes"], ram["kv_cache_bytes"]) == (0, 100 * GIB)
    assert ram["headroom_bytes"] == 156 * GIB - SYSTEM_BYTES
    assert "kv_cache_bytes" not in written(ask(**fields))["rig"]["ram"]


def test_a_list_of_models_counts_it() -> None:
    fields = {"gpu": "h100 sxm", "engine": "vllm", "kv_offload_gb": 20, "top": 2}
    rows = models_for(embedded_sizer(), fields).rows
    assert rows and {row.ram_bytes for row in rows} == {20 * GIB}
    assert all(row.used_bytes == row.fit.config.fullest_gpu_bytes + 20 * GIB for row in rows)


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


@pytest.mark.parametrize(
    ("version", "keeps"),
    [("0.8", False), ("V0", False), ("0.11.0", False), ("0.12", True), ("0.30", True)],
)
def test_a_release_without_the_option_leaves_it_out(version: str, keeps: bool) -> None:
    report = ask(engine_version=version, kv_offload_gb=100)
    assert ("--kv-offloading-size" in command_of(report).text) is keeps
    assert (report.workload.kv_offload_gb == 100) is keeps
    left_out = [note for note in report.notes if note.code == "prefixes_need_a_release"]
    assert [note.fields["version"] for note in left_out] == ([] if keeps else [version])
    for language in LANGUAGES:
        assert all("kv_offload_gb" in say_note(note, language) for note in left_out)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_note_states_no_other_amount_than_what_is_pinned(language: Language) -> None:
    report = ask(engine="sglang", kv_offload_gb=100)
    (note,) = [note for note in report.notes if note.code == "prefixes_kept"]
    assert "GiB" not in say_note(note, language)
