"""Peaks of temporary tensors under vLLM that a few models or options have."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import GIB, MIB
from gpusizer.memory.engines import Placement, Split
from gpusizer.memory.engines.vllm.sparse_buffers import shared_bytes, step_bytes, stream_bytes
from gpusizer.memory.engines.vllm.version_defaults import ROCM
from gpusizer.memory.workload import Workload
from tests.vllm_models import BIG, LLAMA_8B, architecture, embedded, peak


@pytest.mark.parametrize(("version", "rejects"), [("0.17.0", False), ("0.20.0", True)])
def test_the_first_runner_plays_a_rejection_sampler_where_tokens_are_guessed(
    version: str, rejects: bool
) -> None:
    """Llama-8B, 1,024 sequences of 128,256 logits beside the states of 8,192 tokens: 7.5 copies in
    FP32 where tokens are guessed, else 3.5."""
    beside = 1.5 * 8192 * 4096 * 2 + 0.08 * GIB

    def copies(**asked: Any) -> float:
        found = peak(LLAMA_8B, BIG, engine_version=version, sampler="flashinfer", **asked)
        return (found - beside) / (4 * 1024 * 128_256)

    assert copies() == pytest.approx(3.5)
    assert copies(draft_tokens=3) == pytest.approx(7.5 if rejects else 3.5)


def test_the_second_runner_rejects_nothing_at_start() -> None:
    plain = peak(LLAMA_8B, BIG, engine_version="0.30.0")
    assert peak(LLAMA_8B, BIG, engine_version="0.30.0", draft_tokens=3) == plain


def test_compressed_attention_holds_whole_heads_and_streams() -> None:
    """DeepSeek-V4-Flash: 64 heads of 512, four streams of 4,096, a step of 8,192 tokens."""
    model = embedded("deepseek-ai/DeepSeek-V4-Flash")
    arch, step, streams = architecture(model), 8192, 4 * 4096

    def held(tensor: int, card: int = BIG) -> int:
        return step_bytes(Placement(model, Workload(), Split(tensor), card), arch, step)

    padded = step * (streams + 4096 + 2 * 64 * 512) * 2 + 512 * MIB
    assert held(1) == held(2) == held(8) == padded
    assert held(2, BIG + ROCM) == step * (streams + 4096 + 2 * 32 * 512) * 2 + 512 * MIB
    assert stream_bytes(Placement(model, Workload()), arch, step) == step * streams * 2
    others = Placement(LLAMA_8B, Workload())
    assert step_bytes(others, architecture(LLAMA_8B), step) == 0
    assert stream_bytes(others, architecture(LLAMA_8B), step) == 0


def test_an_indexer_gathers_the_keys_of_forty_contexts() -> None:
    """Keys of 132 bytes for four tokens each, or four sequences of 1,024 bytes for an entry of four
    tokens, each of their windows and each token of a step."""
    arch = architecture(embedded("deepseek-ai/DeepSeek-V4-Flash"))
    assert shared_bytes(arch, 912_128, 8192) == 10 * 912_128 * 132
    assert shared_bytes(arch, 8192, 8192) == 4 * (2048 + 128 + 8192) * 1024
    assert shared_bytes(architecture(LLAMA_8B), 8192, 8192) == 0
