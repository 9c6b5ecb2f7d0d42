"""Engines that run one model in one process: transformers, ExLlama, MLX."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.abilities import stated
from gpusizer.memory.engines.base import Engine, Overhead, Placement

# Few public measurements state their settings, so the bands are wide.
_CONTEXT_BYTES = (0.35 * GIB, 0.60 * GIB, 0.90 * GIB)
_METAL_BYTES = (0.05 * GIB, 0.20 * GIB, 0.50 * GIB)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalEngine(Engine):
    """Engine that prefills `chunk` tokens at once (0: the whole prompt) in 16 bits.

    `allocator_slack` is the share of used memory that the caching allocator may hold on top.
    """

    chunk: int
    runtime_bytes: tuple[float, float, float] = _CONTEXT_BYTES
    allocator_slack: float = 0.5

    def activations(self, placement: Placement) -> Amount:
        """Return bytes of hidden states and one MLP of a chunk, plus the last logits."""
        arch, workload = placement.arch, placement.workload
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        tokens = min(workload.context, self.chunk or workload.context) * workload.concurrency
        hidden, width = arch.hidden_size or 0, arch.intermediate_size or 0
        forward = tokens * 2 * (3 * width + 4 * hidden)
        logits = workload.concurrency * (arch.vocab_size or 0) * 4
        scores = 0
        if not workload.flash_attention:
            scores = tokens * workload.context * (arch.attention_heads or 1) * 4
        likely = forward + logits + scores
        return fitted(likely * 0.5, likely, likely * (1 + self.allocator_slack) + 0.1 * GIB)

    def overhead(self, placement: Placement) -> Overhead:
        return Overhead(inside=fitted(*self.runtime_bytes), outside=fitted(0, 0, 0))


TRANSFORMERS = LocalEngine(**stated("transformers"))
EXLLAMA = LocalEngine(**stated("exllama"))
MLX = LocalEngine(**stated("mlx"), runtime_bytes=_METAL_BYTES)
