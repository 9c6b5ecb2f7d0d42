"""SGLang, TensorRT-LLM and TGI: what their share of the card has to hold."""

from __future__ import annotations

import pytest

from gpusizer.architecture import Attention
from gpusizer.engines import ENGINES, Split
from gpusizer.memory import Estimator, MemoryEstimate
from gpusizer.profile import build_profile
from gpusizer.quants import find_quant
from gpusizer.units import GIB
from gpusizer.weight_sizes import weight_sizes
from gpusizer.workload import Workload
from tests.builders import gemma3_1b, llama

LLAMA_8B = build_profile(llama())
CARD = 80 * GIB


def estimate(engine: str) -> MemoryEstimate:
    quant = find_quant("bf16")
    sizes = weight_sizes(LLAMA_8B, quant, native=True)
    return Estimator(LLAMA_8B, Workload()).estimate(
        quant, ENGINES[engine], sizes, Split(), native=True
    )


def test_sglang_counts_what_stays_against_its_fraction() -> None:
    """free x fraction - weights: activations and graphs live in the rest of the card."""
    made = estimate("sglang")
    kept = made.per_gpu.weights.likely + made.per_gpu.overhead.likely
    assert made.pool_bytes(CARD) == int(CARD * 0.88) - kept
    # with the whole card promised to what stays, the card itself is the limit
    small = made.per_gpu.total.likely
    assert made.headroom_bytes(small) <= 0


@pytest.mark.parametrize(("engine", "share"), [("tensorrt-llm", 0.90), ("tgi", 0.93)])
def test_others_take_a_share_of_what_is_free(engine: str, share: float) -> None:
    made = estimate(engine)
    rest = made.per_gpu.total.likely - made.per_gpu.kv_cache.likely
    assert made.pool_bytes(CARD) == pytest.approx((CARD - rest) * share, abs=2)


def test_sliding_layers_of_sglang_have_a_pool_of_their_own() -> None:
    """Gemma 3 1B: 4 full layers and 22 sliding ones, whose pool has 0.8 times the tokens."""
    arch = build_profile(gemma3_1b()).architecture
    assert arch is not None
    token = 2 * 256 * 2
    sglang, split = ENGINES["sglang"], Split()
    made = sglang.sequence_bytes(arch, Workload(), split, 0, 10_000)
    assert made == 10_000 * token * 4 + round(10_000 * token * 0.8) * 22
    assert sglang.longest_context(arch, Workload(), split, 0, made) == 10_000
    assert sum(s.count for s in arch.layer_plan if s.attention is Attention.SLIDING) == 22


def test_nothing_is_cached_where_nothing_is_generated() -> None:
    for engine in ENGINES.values():
        assert engine.sequence_bytes(None, Workload(), Split(), 0, 100) == 0
        assert engine.longest_context(None, Workload(), Split(), 0, GIB) is None
