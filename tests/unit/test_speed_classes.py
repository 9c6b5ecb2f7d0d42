"""Measurements behind the speed of a card and a quantization."""

from __future__ import annotations

import pytest

from gpusizer.advice.conclusion.clauses import unmeasured
from gpusizer.api.ranked_gpu import RankedGpu
from gpusizer.speed.classes import board_of, decode_classes, format_class, prefill_classes
from gpusizer.speed.tables import (
    band,
    band_table,
    decode_table,
    find,
    prefill_table,
)
from tests.asking import size
from tests.documents import part
from tests.sizers import embedded_sizer
from tests.speed_cases import LLAMA, card, on


@pytest.mark.parametrize(
    "gpu, decode, prefill",
    [
        ("4090", ("nvidia_gddr_ada", "nvidia_gddr"), ("nvidia_geforce_ada", "nvidia_geforce")),
        ("L40S", ("nvidia_gddr_ada", "nvidia_gddr"), ("nvidia_pro_ada", "nvidia_pro")),
        ("T4", ("nvidia_gddr_turing", "nvidia_gddr"), ("nvidia_pro_older", "nvidia_pro")),
        ("P40", ("nvidia_gddr_older", "nvidia_gddr"), ("nvidia_pro_older", "nvidia_pro")),
        ("H100", ("nvidia_hbm_hopper", "nvidia_hbm"), ("nvidia_hbm_hopper", "nvidia_hbm")),
        ("H20", ("nvidia_hbm_export", "nvidia_hbm"), ("nvidia_hbm_export", "nvidia_hbm")),
        ("M3 Max 128GB", ("apple_m3", "apple"), ("apple_max", "apple")),
        ("M5 Max 128GB", ("apple_m4", "apple"), ("apple_m5", "apple")),
        ("M3 Ultra 96GB", ("apple_ultra", "apple"), ("apple_ultra", "apple")),
        ("MI300X", ("amd_instinct", "amd"), ("amd_instinct", "amd")),
        ("7900 XTX", ("amd_radeon_older", "amd_radeon", "amd"), ("amd_radeon", "amd")),
        ("9070 XT", ("amd_radeon_rdna4", "amd_radeon", "amd"), ("amd_radeon", "amd")),
        ("B580", ("intel_battlemage", "intel"), ("intel",)),
        ("A770", ("intel_alchemist", "intel"), ("intel",)),
        ("Gaudi 3", ("intel",), ("intel",)),
        ("TPU v5e", (), ()),
    ],
)
def test_calibration_classes(gpu: str, decode: tuple[str, ...], prefill: tuple[str, ...]) -> None:
    assert decode_classes(card(gpu)) == (*decode, "any")
    assert prefill_classes(card(gpu)) == (*prefill, "any")


def test_formats() -> None:
    labels = {"bf16": 16, "q8_0": 8, "q4_k_m": 4, "q6_k": 6, "q4_0": 4, "gptq-int4-g128": 4}
    classes = [format_class(slug, bits) for slug, bits in labels.items()]
    assert classes == ["16-bit", "8-bit", "k-quant", "k-quant", "4-bit", "4-bit"]
    assert format_class("ud-q8_k_xl", 8) == "8-bit", "Q8_0 with some tensors in 16 bits"


def test_an_unmeasured_pair_is_cautious_wide_and_says_so() -> None:
    table = decode_table()
    _, measured = find(table, "serving", ("nvidia_hbm", "any"), "16-bit", "")
    _, unmeasured = find(table, "serving", ("intel", "any"), "16-bit", "")
    assert unmeasured.runs == 0 < measured.runs
    assert unmeasured.efficiency < measured.efficiency
    measured_rate, unmeasured_rate = (
        band("decode", "serving", classes, "", moe=False)
        for classes in (("nvidia_hbm", "any"), ("intel", "any"))
    )
    assert unmeasured_rate.low < measured_rate.low
    report = part(RankedGpu, on(LLAMA, "Gaudi 3", "bf16"))["speed_basis"]
    none = {"provenance": "assumed", "measured_runs": 0, "sources": 0, "cards": 0}
    assert report["decode"] == {**none, "measured_on": None}


def test_every_family_has_constants_for_everything() -> None:
    for family in ("llama.cpp", "exllama", "mlx", "transformers", "serving"):
        assert find(decode_table(), family, ("any",), "k-quant", "")[1].efficiency > 0
        assert find(prefill_table(), family, ("any",), "k-quant", "")[1].utilization > 0


def test_one_card_never_sets_a_class_nor_does_one_source() -> None:
    """Runs behind every row of constants have two sources.

    They also have two boards unless the row is for the one board.
    """
    tables = (decode_table(), prefill_table())
    fitted = {key: row for table in tables for key, row in table.items() if row.runs}
    assert len(fitted) > 100
    for key, row in fitted.items():
        assert row.sources >= 2, key
        assert (row.cards == 1) == bool(row.board), key
    bands = {key: row for key, row in band_table().items() if row.board}
    assert bands and all(key[2] != "any" for key in bands)


def test_others_of_a_class_of_one_card_have_what_their_kin_have() -> None:
    """A Ryzen AI Max+ 395 was measured, a 390 was not: it has what AMD's GPUs do, and how far
    apart they lie."""
    halo, point = card("Strix Halo 128GB"), card("Ryzen AI Max 390 128GB")
    assert decode_classes(halo) == decode_classes(point)
    board, classes = board_of(halo), decode_classes(point)
    own = find(decode_table(), "llama.cpp", classes, "k-quant", board)
    kin = find(decode_table(), "llama.cpp", classes, "k-quant", board_of(point))
    assert (own[0], own[1].board) == ("amd_apu", board) and kin[0] == "amd"
    ends = [band("decode", "llama.cpp", classes, name, moe=False) for name in (board, "")]
    assert ends[0] != ends[1] == band("decode", "llama.cpp", ("amd", "any"), "", moe=False)
    said = {name: on(LLAMA, name, "q4_k_m", engine="llama.cpp") for name in (halo.slug, point.slug)}
    bases = [
        part(RankedGpu, place)["speed_basis"]["decode"]["measured_on"] for place in said.values()
    ]
    assert bases == ["card", "kin"]
    notes = [[note.code for note in unmeasured(place)] for place in said.values()]
    assert notes == [[], ["answer_kin_speed"]]


@pytest.mark.parametrize(
    "engine, users, kin",
    [("vllm", 1, True), ("vllm", 8, False), ("llama.cpp", 8, True)],
)
def test_kin_are_named_where_the_speed_is_theirs(engine: str, users: int, kin: bool) -> None:
    """The speed of many users rests on runs under load in an engine that has constants for them,
    and on those of one user in others."""
    gpu = "4090" if engine == "vllm" else "Ryzen AI Max 390 128GB"
    asked = {"model": "Qwen/Qwen3-8B", "gpu": gpu, "engine": engine, "concurrency": users}
    answer = size(embedded_sizer(), asked)
    assert answer.conclusion is not None and answer.ranking[0].speeds is not None
    codes = {note.code for note in answer.conclusion.weighed}
    assert ("answer_kin_speed" in codes) is kin
    assert answer.ranking[0].speeds.decode_basis.measured_on == "kin"
