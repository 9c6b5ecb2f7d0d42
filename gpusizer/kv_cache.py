"""KV cache and recurrent state of an architecture, in bytes."""

from __future__ import annotations

from fractions import Fraction

from gpusizer.architecture import GROWING, Architecture, Attention

BYTES_PER_ELEMENT: dict[str, Fraction] = {
    "f32": Fraction(4),
    "bf16": Fraction(2),
    "f16": Fraction(2),
    "fp8": Fraction(1),
    # llama.cpp blocks of 32 values with their scales (ggml-common.h)
    "q8_0": Fraction(34, 32),
    "q5_1": Fraction(24, 32),
    "q5_0": Fraction(22, 32),
    "q4_1": Fraction(20, 32),
    "q4_0": Fraction(18, 32),
    "iq4_nl": Fraction(18, 32),
}
"""Cache element types and their width, scales included."""

ALIASES = {"auto": "f16", "fp16": "f16", "float16": "f16", "bfloat16": "bf16", "int8": "q8_0",
           "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp32": "f32"}  # fmt: skip
"""Other spellings; every engine defaults to 16 bits."""

_STATE_BYTES = 4  # recurrent states are kept in FP32


def element_bytes(kv_dtype: str) -> Fraction:
    """Bytes of one cached element. Raises KeyError for an unknown type."""
    return BYTES_PER_ELEMENT[ALIASES.get(kv_dtype, kv_dtype)]


def kv_cache_bytes(
    architecture: Architecture | None,
    context: int,
    concurrency: int,
    kv_dtype: str,
    *,
    shards: int = 1,
    cell_multiple: int = 1,
) -> int:
    """Cache bytes on one of `shards` tensor-parallel GPUs for `concurrency` equal sequences.

    Grouped heads are divided among the GPUs, at least one head each; the MLA latent is
    replicated on every one. Sliding layers keep their window. `cell_multiple` rounds the
    tokens of a sequence up as the engine's allocator does.
    """
    if architecture is None or not architecture.generates:
        return 0
    width = element_bytes(kv_dtype)
    per_sequence = Fraction(0)
    for spec in architecture.layer_plan:
        if spec.attention is Attention.RECURRENT:
            per_sequence += spec.count * Fraction(spec.state_elements * _STATE_BYTES, shards)
            continue
        tokens = -(-spec.cached_tokens(context) // cell_multiple) * cell_multiple
        heads_here = -(-spec.kv_heads // shards)
        share = Fraction(heads_here, spec.kv_heads)
        elements = spec.count * tokens * (spec.key_width + spec.value_width)
        per_sequence += elements * share * width
    return int(per_sequence * concurrency)


def largest_context(
    architecture: Architecture | None, pool_bytes: int, kv_dtype: str, *, shards: int = 1
) -> int | None:
    """Longest context whose cache fits in `pool_bytes` on each GPU, for one sequence.

    Bounded by the model's own maximum where that is known; None when the cache does not
    grow with context (pure recurrent models, encoders).
    """
    if architecture is None or not grows(architecture):
        return None
    limit = architecture.max_context or 2**24
    low, high = 0, limit
    while low < high:  # the cache never shrinks with context, so bisection is exact
        middle = (low + high + 1) // 2
        if kv_cache_bytes(architecture, middle, 1, kv_dtype, shards=shards) <= pool_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def grows(architecture: Architecture) -> bool:
    """Whether any layer's cache grows with context."""
    return architecture.generates and any(
        spec.attention in GROWING and spec.key_width for spec in architecture.layer_plan
    )
