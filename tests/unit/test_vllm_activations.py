"""Peaks of temporary tensors under vLLM that a few models or options have."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.units import GIB
from tests.vllm_models import BIG, LLAMA_8B, peak


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
