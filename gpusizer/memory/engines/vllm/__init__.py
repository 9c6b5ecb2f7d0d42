"""vLLM: weights, cache, activations and the rest, by version."""

from __future__ import annotations

from gpusizer.memory.engines.vllm.engine import VLLM

__all__ = ["VLLM"]
