"""Which tensor-parallel degrees serving engines accept for a model, and what they pad.

vLLM's rules, whose layers the other engines share or mirror: attention heads divide by the degree
(config/model.py, verify_with_parallel_config); key and value heads divide by it or it by them
(every model's attention class); MLP and expert widths divide (layers/linear.py, fused_moe); the
vocabulary is padded to a multiple of 64 and must then divide (vocab_parallel_embedding.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpusizer.architecture import Architecture
from gpusizer.notes import Note

VOCABULARY_STEP = 64
"""Rows that embedding and head are padded to a multiple of."""


@lru_cache(maxsize=4096)
def divides(arch: Architecture, tensor: int) -> bool:
    """Whether the model can be divided among so many tensor-parallel ranks."""
    return tensor == 1 or next(obstacles(arch, tensor, dealt=False), None) is None


def obstacles(arch: Architecture, tensor: int, *, dealt: bool) -> Iterator[Note]:
    """Why a tensor-parallel degree is refused, nothing where it is not.

    `dealt`: routed experts stay whole (expert parallelism), so that their width is free.
    What the configuration does not say is not held against a degree.
    """
    heads, kv_heads = arch.attention_heads, arch.kv_heads
    if heads and heads % tensor:
        yield Note("heads_not_divisible", heads=heads, degree=tensor)
    elif kv_heads and kv_heads % tensor and tensor % kv_heads:
        yield Note("kv_heads_not_divisible", kv_heads=kv_heads, degree=tensor)
    width = arch.intermediate_size
    if arch.experts:
        width = None if dealt else arch.expert_width
    if width and width % tensor:
        yield Note("width_not_divisible", width=width, degree=tensor)
    if arch.vocab_size and padded_vocabulary(arch.vocab_size) % tensor:
        rows = padded_vocabulary(arch.vocab_size)
        yield Note("vocabulary_not_divisible", rows=rows, degree=tensor)


def padded_vocabulary(rows: int) -> int:
    """Rows of embedding and head once padded.

    >>> padded_vocabulary(50_257)
    50304
    """
    return -(-rows // VOCABULARY_STEP) * VOCABULARY_STEP


def costs(arch: Architecture, tensor: int) -> Iterator[Note]:
    """What an accepted degree repeats or pads on the ranks."""
    if arch.kv_heads and tensor > arch.kv_heads:
        yield Note("kv_heads_repeated", kv_heads=arch.kv_heads, degree=tensor)
    if tensor > 1 and arch.vocab_size and arch.vocab_size % VOCABULARY_STEP:
        padded = padded_vocabulary(arch.vocab_size)
        yield Note("vocabulary_padded", rows=arch.vocab_size, padded=padded)
