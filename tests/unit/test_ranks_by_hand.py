"""Division of parts over ranks of tensor parallelism, by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.memory.engines import Split
from gpusizer.memory.kv_cache import BYTES_PER_ELEMENT, cache_curve
from gpusizer.model.architecture import LayerRun
from gpusizer.model.architecture.layer_kinds import FullAttention, RecurrentLayer
from gpusizer.model.profile import build_profile
from tests.asking import size
from tests.builders import llama
from tests.drafts import EAGLE3, eagle3, fetching


def test_widths_of_cached_elements_are_ggmls() -> None:
    names = [name for name in BYTES_PER_ELEMENT if name.upper() in GGML_BLOCKS]
    assert len(names) >= 8
    for name in names:
        weights, block_bytes = GGML_BLOCKS[name.upper()]
        assert BYTES_PER_ELEMENT[name] == Fraction(block_bytes, weights), name


def test_ranks_divide_recurrent_states_and_heads() -> None:
    """Three layers of 1,000 elements in FP32; five of 8 heads with 2 x 64 elements in 16 bits."""
    recurrent = LayerRun(RecurrentLayer(1000), 3)
    full = LayerRun(FullAttention(512, 512, kv_heads=8), 5)
    arch = build_profile(llama()).architecture
    assert arch is not None
    arch = replace(arch, layer_plan=(recurrent, full))
    for ranks, repeated in ((1, 1), (2, 1), (8, 1), (16, 2)):
        expected = 3 * 4 * 1000 // ranks + 100 * 5 * 2 * 2 * 512 * repeated // ranks
        assert cache_curve(arch, "f16", ranks).bytes_at(100) == expected


def test_ranks_divide_what_a_draft_shares_with_its_model() -> None:
    """An EAGLE head's copy of an embedding of 151,936 x 4096 is doubtful; each rank has a part."""
    fields = {"model": "Qwen/Qwen3-8B", "quant": "bf16", "engine": "vllm", "draft_model": EAGLE3}
    sizer = fetching(eagle3(embedding=True))
    for ranks in (1, 2, 4):
        (place,) = size(sizer, {**fields, "gpu": f"{ranks}xh100 sxm"}).ranking
        draft = place.fit.estimate.draft
        assert draft is not None and draft.split == Split(ranks)
        weights = draft.per_gpu.weights
        doubtful = weights.likely - weights.low
        assert doubtful == pytest.approx(151_936 * 4096 * 2 / ranks, rel=0.02)
