"""vLLM: eras of versions, defaults by card, and bands."""

from __future__ import annotations

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.units import GIB
from gpusizer.memory.engines import Placement
from gpusizer.memory.engines.bands import ResidualBand, band
from gpusizer.memory.engines.vllm import version_defaults
from gpusizer.memory.engines.vllm.eras import all_eras, era_of
from gpusizer.memory.workload import Workload
from tests.each import each
from tests.vllm_models import BIG, LLAMA_8B, NOW, VLLM


@each(
    "version, since, generation",
    [
        (None, (0, 29, 0), "V1"),
        ("nightly", (0, 29, 0), "V1"),
        ("99.0", (0, 29, 0), "V1"),
        ("V0", (0, 7, 1), "V0"),
        ("0.6.3", (0, 2, 0), "V0"),
        ("0.1", (0, 2, 0), "V0"),
        ("0.8.5", (0, 8, 0), "V1"),
        ("v0.8.5 V0", (0, 7, 1), "V0"),
        ("0.19.0 V0", (0, 18, 0), "V1"),  # there was none any more
        ("vllm 0.10.2+cu128", (0, 9, 1), "V1"),
        ("0.19.2rc1.dev3", (0, 18, 0), "V1"),
        ("0.20.0", (0, 20, 0), "V1"),
    ],
)
def test_versions(version: str | None, since: tuple[int, int, int], generation: str) -> None:
    era = era_of(version)
    assert (era.since, era.generation) == (since, generation)


def test_the_table_of_eras_is_in_order() -> None:
    eras = all_eras()
    assert [era.since for era in eras] == sorted({era.since for era in eras})
    sorting = [era.since for era in eras if era.sorts]
    assert max(sorting) < (0, 17, 0) and len(sorting) == sum(e.since < (0, 17, 0) for e in eras)


def test_defaults_follow_the_card_and_its_name() -> None:
    assert VLLM.device_class(80 * GIB, "H100 SXM5 80GB") == BIG
    assert VLLM.device_class(79 * GIB, "A100 SXM4 80GB") == version_defaults.A100_CLASS
    assert VLLM.device_class(8 * GIB, "RTX A1000 8GB") == 0
    assert VLLM.device_class(180 * GIB, "B200") == version_defaults.HUGE_CLASS
    assert VLLM.device_class(120 * GIB, "GB10 / DGX Spark 128GB") == version_defaults.UNIFIED
    assert VLLM.device_class(16 * GIB, "RX 9070 XT", "ROCm") == version_defaults.ROCM
    assert (
        VLLM.device_class(192 * GIB, "MI300X", "ROCm")
        == version_defaults.HUGE_CLASS + version_defaults.ROCM
    )
    assert VLLM.utilization(Workload(engine_version="0.19")) == 0.90
    assert VLLM.utilization(Workload()) == 0.92
    assert VLLM.utilization(Workload(memory_utilization=0.5)) == 0.5
    limits = {
        c: version_defaults.limits_of(Placement(LLAMA_8B, device_class=c), NOW)
        for c in version_defaults.DEVICE_CLASSES
    }
    assert [(batch_limits.tokens, batch_limits.sequences) for batch_limits in limits.values()] == [
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (2048, 256),
        (8192, 1024),
        (8192, 1024),
        (8192, 1024),
        (16384, 1024),
        (16384, 1024),
    ]


def test_a_prompt_is_one_step_for_the_first_scheduler() -> None:
    def of(context: int) -> version_defaults.BatchLimits:
        workload = Workload(context=context, concurrency=4)
        return version_defaults.limits_of(Placement(LLAMA_8B, workload), era_of("V0"))

    assert of(29_000) == version_defaults.BatchLimits(29_000, 256, True)
    assert of(40_000) == version_defaults.BatchLimits(
        2048, 256, False
    )  # chunked prefill turns itself on


def test_bands() -> None:
    band_around = ResidualBand("gib", -1.0, 2.0, 9).around(
        3 * GIB, Provenance.FITTED, highest=4 * GIB
    )
    assert (band_around.low, band_around.likely, band_around.high) == (2 * GIB, 3 * GIB, 6 * GIB)
    band_around = ResidualBand("share", -0.5, 0.25, 9).around(100, Provenance.DERIVED)
    assert (band_around.low, band_around.likely, band_around.high) == (50, 100, 125)
    assert band("vllm", "V9", "graphs") == band("vllm", "any", "graphs")
