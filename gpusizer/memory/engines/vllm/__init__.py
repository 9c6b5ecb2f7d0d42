"""vLLM: weights, cache, activations and the rest, by version."""

from gpusizer.memory.engines.vllm.engine import VLLM

__all__ = ["VLLM"]
