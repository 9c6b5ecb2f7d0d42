"""The first speed model, against sums done by hand."""

from __future__ import annotations

import pytest

from gpusizer.ranking import Ranked
from gpusizer.speed import bytes_per_step, gpu_class, speed_class
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


def on(model: str, gpu: str, quant: str, **fields: object) -> Ranked:
    return SIZER.size({"model": model, "gpu": gpu, "quant": quant, **fields}).ranking[0]


def test_decode_is_bytes_over_bandwidth_plus_time_per_layer() -> None:
    """Llama-3.1-8B Q4_K_M on an RTX 4090 with 1,024 tokens of context.

    Read: 4,912,898,048 bytes of weights less the embedding (128,256 rows of 4,096 at 144 bytes
    per 256) and 1,024 x 131,072 bytes of cache. 0.80 of 1,008 GB/s, 32 layers at 36 us.
    """
    item = on("meta-llama/Llama-3.1-8B-Instruct", "1x4090", "q4_k_m", context=1024)
    embedding = 128_256 * 4096 // 256 * 144
    read = 4_912_898_048 - embedding + 1024 * 131_072
    seconds = read / (0.80 * 1008e9) + 32 * 36e-6
    assert item.decode is not None
    assert item.decode.likely == pytest.approx(1 / seconds, rel=0.01)
    assert item.decode.low == pytest.approx(0.8 / seconds, rel=0.01)
    # Published llama.cpp runs of this model and card report 125 to 150 tokens/s.
    assert item.decode.low < 130 < item.decode.high


def test_a_moe_step_reads_the_experts_somebody_chose() -> None:
    """Qwen3-30B-A3B: 8 of 128 experts. One user reads 6.25 % of them, 32 users 87.3 %."""
    expected = {1: 8 / 128, 32: 1 - (1 - 8 / 128) ** 32}
    for users, share in expected.items():
        report = SIZER.size(
            {"model": "Qwen/Qwen3-30B-A3B", "quant": "native", "concurrency": users,
             "context": 1024}
        )  # fmt: skip
        estimate = report.estimates[0].estimate
        sizes = estimate.sizes
        cache = 1024 * users * report.profile.kv_cache_bytes_per_token
        weights = sizes.total - sizes.embedding - sizes.experts * (1 - share)
        assert bytes_per_step(report.profile, estimate, report.workload) == pytest.approx(
            weights + cache
        )


def test_a_layer_split_is_no_faster_than_one_card() -> None:
    one = on("meta-llama/Llama-3.1-8B-Instruct", "1x4090", "q4_k_m")
    four = on("meta-llama/Llama-3.1-8B-Instruct", "4x4090", "q4_k_m")
    assert one.decode is not None and four.decode is not None
    assert four.decode.likely <= one.decode.likely


def test_tensor_parallel_is_faster_but_not_by_the_number_of_cards() -> None:
    one = on("meta-llama/Llama-3.1-8B-Instruct", "1xH100", "bf16")
    two = on("meta-llama/Llama-3.1-8B-Instruct", "2xH100", "bf16")
    assert one.decode is not None and two.decode is not None
    assert one.decode.likely < two.decode.likely < 2 * one.decode.likely


def test_unknown_bandwidth_is_an_unknown_speed() -> None:
    item = on("meta-llama/Llama-3.1-8B-Instruct", "Ascend 910B", "bf16")
    assert item.decode is None


def test_encoders_have_no_decode_speed() -> None:
    item = on("BAAI/bge-large-en-v1.5", "4090", "bf16")
    assert item.decode is None and item.prefill is None


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ("4090", "nvidia_gddr"), ("H100", "nvidia_hbm"), ("M3 Max 128GB", "apple"),
        ("MI300X", "amd"), ("Gaudi 3", "other"),
    ],
)  # fmt: skip
def test_calibration_classes(gpu: str, expected: str) -> None:
    assert gpu_class(SIZER.catalogue.find(gpu)) == expected


def test_an_unmeasured_pair_is_cautious_and_wide() -> None:
    measured, unmeasured = speed_class("llama.cpp", "nvidia_gddr"), speed_class("mlx", "other")
    assert unmeasured.efficiency <= measured.efficiency
    assert unmeasured.band > measured.band
