"""Models on the reader's disk."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpusizer.core.units import GB, GIB
from gpusizer.fit.machine import SYSTEM_BYTES
from gpusizer.fit.placement.from_disk import DiskReading, disk_notes, unmapped_amount
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.text import LANGUAGES, say_note
from gpusizer.usecases.models_for.models_answer import ModelsFor
from tests.asking import compare, models_for, size
from tests.builders import llama, llama_70b
from tests.documents import written
from tests.families import qwen3_moe
from tests.machines import Planned, machine
from tests.machines import planned as on_machine
from tests.sizers import embedded_sizer

DENSE, LARGE, SPARSE = (build_profile(make()) for make in (llama, llama_70b, qwen3_moe))
# Q8_0 is 34 bytes for 32 weights: 218,103,808 in a layer of Llama-3-8B, and two norms in FP32.
LAYER = 218_103_808 * 34 // 32 + 2 * 4096 * 4
OUTPUT = 128_256 * 4096 * 34 // 32 + 4096 * 4
EMBEDDING = 128_256 * 4096 * 34 // 32


def plan(
    rig: str, profile: ModelProfile, quant: str = "q8_0", disk: float = 7 * GB, **fields: Any
) -> Planned:
    study = Study(profile, Workload(**fields), [(find_quant(quant), False)])
    return on_machine(study, machine(rig, disk))


def test_what_is_in_no_memory_is_read_for_every_token() -> None:
    """8B in Q8_0 without a card: 32 layers and the output are read, of the embedding one row.

    8 GiB less 4 for the system and less cache and buffers are left for pages of the file.
    """
    planned = plan("8gb ram", DENSE)
    disk, host = planned.disk, planned.arranged.host
    assert planned.verdict is Verdict.FROM_DISK and disk is not None
    resident = 8 * GIB - SYSTEM_BYTES - unmapped_amount(host).likely
    assert disk.resident_bytes == resident
    assert disk.token_bytes == 32 * LAYER + OUTPUT - resident
    assert disk.missing_bytes == 32 * LAYER + OUTPUT + EMBEDDING - resident
    assert disk.most_tokens_per_second == pytest.approx(7e9 / disk.token_bytes, rel=0.005)
    assert planned.decode is not None and planned.decode.high < disk.most_tokens_per_second


def test_of_routed_experts_a_token_reads_its_own() -> None:
    """Qwen3-30B-A3B on a small card: experts lie in system memory, of 128 a token reads 8."""
    planned = plan("3060 12gb + 16gb ram", SPARSE)
    disk, host = planned.disk, planned.arranged.host
    assert planned.verdict is Verdict.FROM_DISK and disk is not None
    assert planned.arranged.how.cpu_experts and not host.layers
    experts, resident = _experts(planned), 12 * GIB - unmapped_amount(host).likely
    assert disk.token_bytes == pytest.approx((experts - resident) * 8 / 128, rel=1e-6)


def test_words_of_a_disk_are_in_gigabytes() -> None:
    """2 GB for a token at 7 GB/s are 3.5 tokens/s."""
    _, speed = disk_notes(DiskReading(0, 3 * GB, 2 * GB, 7e9))
    assert speed.fields == {"token_bytes": 2 * GB, "gb": 7.0, "tokens": 3.5}


def _experts(planned: Planned) -> int:
    """128 experts of 3 x 2048 x 768 weights in Q8_0 for each layer that keeps them on the host."""
    return planned.arranged.how.cpu_experts * 128 * 3 * 2048 * 768 * 34 // 32


def test_a_faster_disk_and_more_memory_allow_more() -> None:
    slow, fast = (plan("3090 + 32gb ram", LARGE, disk=rate * GB).disk for rate in (1, 10))
    assert slow is not None and fast is not None
    assert slow.token_bytes == fast.token_bytes
    assert fast.most_tokens_per_second == pytest.approx(
        10 * (slow.most_tokens_per_second or 0), rel=0.01
    )
    tokens = [plan(f"3090 + {gib}gb ram", LARGE).disk for gib in (24, 32, 48)]
    reading = [disk.token_bytes for disk in tokens if disk is not None]
    assert len(reading) == 3 and reading == sorted(reading, reverse=True)


def test_it_lies_between_offload_and_no() -> None:
    """More memory makes it an offload; none for cache and buffers leaves nothing to run in."""
    verdicts = [plan(f"3090 + {gib}gb ram", LARGE).verdict for gib in (4, 32, 128)]
    assert verdicts == [Verdict.DOES_NOT_FIT, Verdict.FROM_DISK, Verdict.OFFLOAD]
    places = [verdict.place for verdict in verdicts]
    assert places == sorted(places, reverse=True)


def test_only_an_engine_that_maps_its_file_does_it() -> None:
    """Ollama counts weights in system memory and refuses to load; a Mac has no other memory."""
    assert plan("3090 + 32gb ram", LARGE, engine="ollama").verdict is Verdict.DOES_NOT_FIT
    assert plan("m3 max 36gb", LARGE).verdict is Verdict.DOES_NOT_FIT
    unsaid = plan("3090", LARGE)
    assert (unsaid.verdict, unsaid.disk) == (Verdict.OFFLOAD, None)


def test_the_longest_context_is_what_the_memory_beside_the_pages_holds() -> None:
    planned = plan("3090 + 32gb ram", LARGE)
    assert planned.max_context is not None and planned.max_context >= 8192


def test_a_request_states_the_disk() -> None:
    fields = {"model": "Qwen/Qwen3-235B-A22B", "quant": "q4_k_m", "card": False, "top": 1}
    answer = size(
        embedded_sizer(), {**fields, "rig": "3090 (20 GB free) + 64gb ram", "disk_gb_per_s": 3.5}
    )
    rig = written(answer)["rig"]
    assert rig["verdict"] == "from_disk"
    assert rig["disk"]["bytes_per_second"] == 3.5 * GB


def test_named_gpus_with_stated_memory_are_judged_as_their_machine() -> None:
    """235B in Q4_K_M is 132 GiB: 24 GiB of card with 8, 64 and 256 GiB beside it."""
    fields = {
        "model": "Qwen/Qwen3-235B-A22B",
        "quant": "q4_k_m",
        "card": False,
        "gpu": "3090",
        "gpu_count": 1,
    }
    unsaid, *stated = [
        size(embedded_sizer(), {**fields, "ram_gb": gb}).ranking[0] for gb in ("", 8, 64, 256)
    ]
    verdicts = [item.fit.verdict for item in stated]
    assert unsaid.fit.verdict is Verdict.DOES_NOT_FIT, "beyond three quarters of the weights"
    assert verdicts == [Verdict.FROM_DISK, Verdict.FROM_DISK, Verdict.OFFLOAD]
    speeds = [
        note.fields["tokens"]
        for item in stated
        for note in item.reasons
        if note.code == "disk_speed"
    ]
    assert len(speeds) == 2 and float(speeds[0]) < float(speeds[1])
    assert stated[0].speeds is None
    assert "try_offload" not in [suggestion.note.code for suggestion in stated[0].advice]


@pytest.mark.parametrize(
    "asked, boards",
    [
        ({"gpu": "3090"}, 1),
        ({"gpu": "2x3090"}, 2),
        ({"gpu": "3090", "gpu_count": 3}, 3),
        ({"gpu": "3090", "tensor_parallel": 4}, 4),
        ({"gpu": "3090", "ram_gb": ""}, 8),  # as many as run it: one does not
        ({"gpu": "h100 sxm", "ram_gb": ""}, 2),
    ],
)
def test_a_machine_of_stated_memory_has_one_card_unless_more_are_named(
    asked: dict[str, Any], boards: int
) -> None:
    fields = {"model": "Qwen/Qwen3-235B-A22B", "quant": "q4_k_m", "card": False, "ram_gb": 64}
    asked = {**fields, **asked}
    assert size(embedded_sizer(), asked).ranking[0].fit.count == boards
    if "gpu_count" not in asked:
        compared = compare(embedded_sizer(), {**asked, "gpus": asked["gpu"]}).items[0].ranked
        assert compared is not None and compared.fit.count == boards


def test_memory_beside_cards_that_hold_the_model_changes_nothing() -> None:
    fields = {"model": "Qwen/Qwen3-8B", "quant": "native", "card": False, "gpu": "1x 4090"}
    plain, stated = (size(embedded_sizer(), {**fields, **more}) for more in ({}, {"ram_gb": 8}))
    answers = [written(item)["ranking"] for item in (plain, stated)]
    assert answers[0] == answers[1]


def test_models_for_a_card_with_memory_are_those_of_the_machine() -> None:
    asked, rig = (
        models_for(embedded_sizer(), fields)
        for fields in ({"gpu": "3090", "ram_gb": 64}, {"rig": "3090 + 64gb ram"})
    )
    assert asked.machine == rig.machine
    assert [row.runs.profile.repo_id for row in asked.rows] == [
        row.runs.profile.repo_id for row in rig.rows
    ]
    assert Verdict.FROM_DISK not in {runs.verdict for runs in asked.found}


def test_the_number_of_cards_beside_memory_counts_however_it_is_stated() -> None:
    named, stated = (
        models_for(embedded_sizer(), {**fields, "ram_gb": 64, "models": "Qwen/Qwen3-8B"})
        for fields in ({"gpu": "2x3090"}, {"gpu": "3090", "gpu_count": 2})
    )
    assert named.machine == stated.machine and len(stated.machine.gpus) == 2
    assert stated.request.hardware == "2x 3090"


LARGE_MODEL = "deepseek-ai/DeepSeek-R1"
SMALL = "Qwen/Qwen3-8B"
MACHINE = "3090 + 64gb ram"


@cache
def answer(rig: str = MACHINE, *, named: bool = True, **fields: Any) -> ModelsFor:
    models = {"models": [LARGE_MODEL, SMALL]} if named else {}
    return models_for(embedded_sizer(), {"gpu": rig, "top": 0, **models, **fields})


def codes(given: ModelsFor) -> set[str]:
    return {note.code for note in given.notes}


def test_what_fits_no_memory_is_left_out_unless_asked_for() -> None:
    assert [runs.profile.repo_id for runs in answer().found] == [SMALL]
    assert "from_disk_left_out" in codes(answer())
    small, large = answer(from_disk=True).found
    assert (small.profile.repo_id, small.verdict) == (SMALL, Verdict.FITS)
    assert (large.profile.repo_id, large.verdict) == (LARGE_MODEL, Verdict.FROM_DISK)
    assert not codes(answer(from_disk=True)) & {"from_disk_left_out", "from_disk_needs_ram"}


def test_its_speed_is_that_of_the_disk() -> None:
    """R1 in the fewest bits of the quantizations that people use, on a disk of 7 GB/s."""
    rows = {rate: answer(from_disk=True, disk_gb_per_s=rate).rows[1] for rate in (3.5, 7)}
    slow, fast = (row.runs.most_tokens_per_second for row in rows.values())
    assert slow is not None and fast is not None
    assert fast == pytest.approx(2 * slow, rel=0.01)
    row = written(answer(from_disk=True, disk_gb_per_s=7))["models"][1]
    assert row["verdict"] == "from_disk"
    assert row["decode_tokens_per_second"]["high"] < row["disk"]["most_tokens_per_second"]
    assert row["disk"]["most_tokens_per_second"] == pytest.approx(
        7 * GB / row["disk"]["bytes_per_token"], rel=0.005
    )
    assert row["quant"] == "q4_k_m"


def test_the_whole_list_ends_with_it() -> None:
    """Every model that stays in memory is listed as before, in the same order."""
    plain, disk = answer(named=False), answer(named=False, from_disk=True)
    before = [runs.profile.repo_id for family in plain.families for runs in [family.head]]
    after = [family.head for family in disk.families]
    assert [runs.profile.repo_id for runs in after[: len(before)]] == before
    assert len(after) > len(before)
    assert {runs.verdict for runs in after[len(before) :]} == {Verdict.FROM_DISK}


@pytest.mark.parametrize("rig", ["3090", "2x3090"])
def test_without_the_size_of_system_memory_nothing_is_listed(rig: str) -> None:
    given = answer(rig, from_disk=True)
    assert [runs.profile.repo_id for runs in given.found] == [SMALL]
    assert "from_disk_needs_ram" in codes(given)
    assert "from_disk_left_out" not in codes(answer(rig))
    for note in given.notes:
        assert all(say_note(note, language) for language in LANGUAGES)


def test_ollama_reads_nothing_from_the_disk() -> None:
    assert [r.verdict for r in answer(from_disk=True, engine="ollama").found] == [Verdict.FITS]
