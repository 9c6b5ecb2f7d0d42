"""Which measurements a pair of card and quantization is reckoned by."""

from __future__ import annotations

from gpusizer.answers.ranked_json import ranked_json
from gpusizer.fit.speed.classes import decode_classes, format_class, prefill_classes
from gpusizer.fit.speed.tables import (
    band,
    decode_table,
    find,
    prefill_table,
)
from tests.each import each
from tests.speed_cases import LLAMA, card, on


@each(
    "gpu, decode, prefill",
    [
        ("4090", ("nvidia_gddr_ada", "nvidia_gddr"), ("nvidia_geforce_ada", "nvidia_geforce")),
        ("L40S", ("nvidia_gddr_ada", "nvidia_gddr"), ("nvidia_pro_ada", "nvidia_pro")),
        ("T4", ("nvidia_gddr_turing", "nvidia_gddr"), ("nvidia_pro_older", "nvidia_pro")),
        ("P40", ("nvidia_gddr_older", "nvidia_gddr"), ("nvidia_pro_older", "nvidia_pro")),
        ("H100", ("nvidia_hbm_hopper", "nvidia_hbm"), ("nvidia_hbm_hopper", "nvidia_hbm")),
        ("H20", ("nvidia_hbm_export", "nvidia_hbm"), ("nvidia_hbm_export", "nvidia_hbm")),
        ("M3 Max 128GB", ("apple_m3", "apple"), ("apple_max", "apple")),
        ("M5 Max 128GB", ("apple_m5", "apple"), ("apple_m5", "apple")),
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
    measured = find(table, "serving", ("nvidia_hbm", "any"), "16-bit")
    unmeasured = find(table, "serving", ("intel", "any"), "16-bit")
    assert unmeasured.runs == 0 < measured.runs
    assert unmeasured.efficiency < measured.efficiency
    measured_rate, unmeasured_rate = (
        band("decode", "serving", classes, moe=False)
        for classes in (("nvidia_hbm", "any"), ("intel", "any"))
    )
    assert unmeasured_rate.low < measured_rate.low
    report = ranked_json(on(LLAMA, "Gaudi 3", "bf16"))["speed_basis"]
    assert report["decode"] == {"provenance": "assumed", "measured_runs": 0, "sources": 0}


def test_every_family_has_constants_for_everything() -> None:
    for family in ("llama.cpp", "exllama", "mlx", "transformers", "serving"):
        assert find(decode_table(), family, ("any",), "k-quant").efficiency > 0
        assert find(prefill_table(), family, ("any",), "k-quant").utilization > 0
