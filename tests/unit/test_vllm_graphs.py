"""vLLM: CUDA graphs, how many are captured and what they take; what encoders of images hold at the
peak of start-up."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import GIB, KIB, MIB
from gpusizer.memory.engines import Overhead, Placement, Split
from gpusizer.memory.engines.vllm import version_defaults
from gpusizer.memory.engines.vllm.encoders import embeddings_bytes, tower_bytes
from gpusizer.memory.engines.vllm.graphs import captured_sizes, graph_bytes
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from tests.families import qwen3_moe, qwen3_next
from tests.vllm_models import BIG, DEEPSEEK, GPT_OSS, LLAMA_8B, VLLM, architecture, embedded, peak

BLACKWELL = version_defaults.HUGE_CLASS
LLAMA_SPLITS = 32 * 512 * 32 * 128 * 4  # splits x tokens x heads x width in FP32: 0.25 GiB


def graphs(
    version: str,
    sequences: int,
    card: int = 0,
    model: ModelProfile = LLAMA_8B,
    split: Split | None = None,
    **asked: Any,
) -> float:
    workload = Workload(engine_version=version, max_num_seqs=sequences, **asked)
    placement = Placement(model, workload, split or Split(), card)
    release = vllm_release(version)
    limits = version_defaults.limits_of(placement, release)
    return graph_bytes(placement, architecture(model), limits, release)


@pytest.mark.parametrize(
    "largest, step, count",
    [
        (2, 16, 2),
        (4, 16, 3),
        (16, 16, 5),
        (128, 16, 19),
        (256, 16, 35),  # "FULL=35 (largest=256)" in logs of 0.22 and 0.27
        (512, 16, 51),  # "PIECEWISE=51 (largest=512)"
        (512, 8, 67),  # 67/67 in logs of 0.10 and 0.11.0
        (1024, 16, 83),  # "from 67 to 83", GptOssForCausalLMConfig
    ],
)
def test_sizes_are_those_that_logs_count(largest: int, step: int, count: int) -> None:
    assert captured_sizes(largest, step) == count


def test_graphs_grow_with_layers_and_captures_of_each_mode() -> None:
    """Llama-3.1-8B has 32 layers. In pieces sizes go to twice the sequences, whole to as many."""
    both = 32 * (51 * 256 + 35 * 128) * KIB
    assert graphs("0.19", 256) == both
    assert graphs("0.19", 8) == 32 * (5 * 256 + 4 * 128) * KIB
    assert graphs("0.11.0", 256) == 32 * (67 * 256 + 35 * 128) * KIB
    assert graphs("0.10.2", 256) == 32 * 67 * 256 * KIB  # in pieces alone
    assert graphs("0.7.3", 256) == 32 * 35 * 128 * KIB  # decoding alone
    assert graphs("0.19", 256, split=Split(1, 4)) == both / 4
    assert graphs("0.25", 32, draft_tokens=3) == 32 * (35 * 256 + 19 * 128) * KIB


def test_hopper_holds_a_partial_output_for_every_split_of_a_whole_graph() -> None:
    """Llama-3.1-8B on one, two and four H100 under 0.19: 0.89 to 0.91, 0.76 and 0.67 GiB."""
    kept = 32 * 51 * (256 + 128) * KIB
    for ranks, printed in ((1, 0.90), (2, 0.76), (4, 0.67)):
        found = graphs("0.19", 1024, BIG, split=Split(ranks))
        assert found == kept + LLAMA_SPLITS / ranks
        assert found / GIB == pytest.approx(printed, rel=0.08)
    assert graphs("0.10", 1024, BIG) == 32 * 67 * 256 * KIB  # no whole graphs yet
    latent = architecture(DEEPSEEK)
    of_latents = 32 * 512 * 128 * 512 * 4  # 128 heads, outputs as wide as the latent
    kept = latent.layers * 51 * (256 + 128) * KIB * 1.3
    assert graphs("0.19", 1024, BIG, DEEPSEEK) == pytest.approx(kept + of_latents)


def test_larger_graphs_of_a_type_and_of_blackwell() -> None:
    layers = architecture(GPT_OSS).layers
    every_size = layers * (83 * 256 + 5 * 128) * KIB * 1.3
    assert graphs("0.13", 16, 0, GPT_OSS) == pytest.approx(every_size)
    before, after = (graphs(version, 1024, BLACKWELL) for version in ("0.27.1", "0.28.0"))
    assert (before, after) == (32 * 51 * 384 * KIB, 32 * 83 * 384 * KIB)
    amd = graphs("0.28.0", 256, version_defaults.ROCM)
    assert amd == pytest.approx(5.9 * 32 * (51 * 256 + 35 * 128) * KIB)


def overhead(card: int = 0, **asked: Any) -> Overhead:
    return VLLM.overhead(Placement(LLAMA_8B, Workload(**asked), device_class=card))


def test_the_budget_pays_for_graphs_by_release() -> None:
    old, turn, new = (overhead(BIG, engine_version=v) for v in ("0.19", "0.20.0", "0.29"))
    eager = overhead(BIG, enforce_eager=True)
    whole = graphs("0.19", 1024, BIG)
    assert old.outside.likely - eager.outside.likely == round(whole)
    assert new.outside.likely == turn.outside.likely == eager.outside.likely
    assert new.inside.likely > eager.inside.likely == old.inside.likely
    assert turn.inside.likely - old.inside.likely == round(whole)  # a release earlier than said


def test_amd_cards_hold_kernels_and_larger_graphs_outside_the_budget() -> None:
    cuda, hip, eager = overhead(0), overhead(version_defaults.ROCM), overhead(enforce_eager=True)
    assert hip.inside.likely == round(0.25 * GIB) + round(0.5 * GIB) < hip.inside.high
    more = hip.outside.likely - eager.outside.likely
    assert more == round(5.9 * 32 * (51 * 256 + 35 * 128) * KIB)
    assert cuda.inside.likely > round(0.25 * GIB)


def test_intel_cards_capture_no_graphs_and_hold_a_runtime() -> None:
    xpu = version_defaults.XPU
    assert VLLM.device_class(24 * GIB, "Arc Pro B60 24GB", "oneAPI") == xpu
    assert graphs("0.28.0", 256, xpu) == 0
    with_graphs, eager = overhead(xpu), overhead(xpu, enforce_eager=True)
    assert with_graphs == eager
    cuda = overhead(0, enforce_eager=True)
    assert eager.inside.low - cuda.inside.low == round(1.0 * GIB)
    assert eager.inside.likely - cuda.inside.likely == round(1.5 * GIB)
    assert eager.inside.high - cuda.inside.high == round(1.7 * GIB)


def test_experts_are_more_kernels() -> None:
    model = build_profile(qwen3_moe())
    layers = architecture(model).layers
    found = graphs("0.26.1", 16, 0, model)
    assert found == pytest.approx(layers * (7 * 256 + 5 * 128) * KIB * 1.3)
    assert found < 150 * MIB  # Qwen3-Coder-30B-A3B with 16 sequences printed 0.11 GiB


def test_the_warm_up_of_gated_delta_rules_counts_as_graphs() -> None:
    """Qwen3-Next: 32 heads of 128 values, 16 bytes for each and each of 8,192 tokens: 0.5 GiB."""
    model = build_profile(qwen3_next())
    after, before, eager = (
        peak(model, BIG, engine_version=version, enforce_eager=eager)
        for version, eager in (("0.26.0", False), ("0.25.0", False), ("0.26.0", True))
    )
    assert after - before == after - eager == 8192 * 16 * 32 * 128 == GIB // 2


NINE = embedded("Qwen/Qwen3.5-9B")
PATCHES = 4 * 16_384


def test_the_tower_of_an_image_is_its_patches_and_the_widest_point_of_a_block() -> None:
    """Qwen3.5-9B: 27 blocks of 1,152 with an MLP of 4,304; patches of 3 x 2 x 16 x 16 values."""
    found = tower_bytes(NINE, architecture(NINE), 8192, Split())
    assert found == PATCHES * 2 * (1536 + 3 * 1152 + 2 * 4304)
    assert found / GIB == pytest.approx(1.66, abs=0.01)
    halved = tower_bytes(NINE, architecture(NINE), 8192, Split(2))
    assert halved == PATCHES * 2 * (1536 + 3 * 1152 + 4304)
    longer = tower_bytes(NINE, architecture(NINE), 32_768, Split())
    assert longer == 2 * found  # a step larger than the largest image


def test_the_peak_is_the_towers_or_the_decoders_beside_its_embeddings() -> None:
    """Qwen3.5-4B on an RTX 4090 D under 0.23 left 10.21 GiB: 21.17 - 8.61 - 0.79 - 1.56."""
    four = embedded("Qwen/Qwen3.5-4B")
    tower = PATCHES * 2 * (1536 + 3 * 1024 + 2 * 4096)
    assert peak(four, engine_version="0.23.0") == tower
    decoding = 3.5 * 4 * 1024 * 248_320  # a batch that outweighs the tower
    assert peak(four, engine_version="0.23.0", max_num_seqs=1024) > decoding > tower
    without = peak(four, engine_version="0.23.0", text_only=True)
    assert without < tower


def test_other_models_have_no_tower_of_this_family() -> None:
    assert tower_bytes(LLAMA_8B, architecture(LLAMA_8B), 8192, Split()) == 0
    llava = embedded("ybelkada/llava-1.5-7b-hf-awq")
    assert tower_bytes(llava, architecture(llava), 8192, Split()) == 0
    assert embeddings_bytes(llava, architecture(llava), 8192) > 0
