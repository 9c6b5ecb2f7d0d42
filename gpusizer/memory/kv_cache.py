"""Bytes of the KV cache and the recurrent states of an architecture."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.layer_kinds.parts import CachePart, Widths


def _ggml_width(name: str) -> Fraction:
    """Return bytes of a value in llama.cpp's blocks, with its part of their scales."""
    values, block_bytes = GGML_BLOCKS[name.upper()]
    return Fraction(block_bytes, values)


# Cache element types and their width in bytes, scales included.
BYTES_PER_ELEMENT: dict[str, Fraction] = {
    "f32": Fraction(4),
    "bf16": Fraction(2),
    "f16": Fraction(2),
    "fp8": Fraction(1),
    **{name: _ggml_width(name) for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")},
}

# Other spellings; every engine defaults to 16 bits.
ALIASES = {
    "auto": "f16",
    "fp16": "f16",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "q8_0",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp32": "f32",
}

_LLAMA_CPP_TYPES = BYTES_PER_ELEMENT.keys() - {"fp8"}
STATE_BYTES = 4  # recurrent states are kept in FP32
STEPS = 32  # cache amounts are counted in 32nds of a byte, the finest step of any type
NO_LIMIT = 2**24  # tokens, if the configuration names no longest context


def element_bytes(kv_dtype: str) -> Fraction:
    """Return bytes of one cached element. Raise KeyError for an unknown type."""
    return BYTES_PER_ELEMENT[ALIASES.get(kv_dtype, kv_dtype)]


def key_and_value_bytes(kv_dtype: str) -> tuple[Fraction, Fraction]:
    """Return bytes of one cached key and value element; "q8_0/f16" names them apart."""
    keys, _, values = kv_dtype.partition("/")
    return element_bytes(keys), element_bytes(values or keys)


def llama_cpp_types(kv_dtype: str) -> tuple[str, str] | None:
    """Return llama.cpp's `--cache-type-k` and `-v`; None if it lacks the type.

    >>> llama_cpp_types("q8_0/fp16"), llama_cpp_types("fp8")
    (('q8_0', 'f16'), None)
    """
    keys, _, values = kv_dtype.partition("/")
    first, second = (ALIASES.get(part, part) for part in (keys, values or keys))
    return (first, second) if {first, second} <= _LLAMA_CPP_TYPES else None


@lru_cache(maxsize=256)
def _widths(kv_dtype: str) -> Widths:
    """Return widths of elements, in 32nds of a byte."""
    keys, values = key_and_value_bytes(kv_dtype)
    return Widths(int(keys * STEPS), int(values * STEPS), STATE_BYTES * STEPS)


def layer_cache(layer: Layer, kv_dtype: str, context: int, cell_multiple: int) -> int:
    """Return the cache or state of one layer for one sequence, in 32nds of a byte."""
    return layer.amount(context, _widths(kv_dtype), cell_multiple)


def part_cache(part: CachePart, kv_dtype: str, context: int) -> int:
    """Return the cache of one part of a layer for one sequence, in 32nds of a byte."""
    return part.amount(context, _widths(kv_dtype))


@dataclass(frozen=True, slots=True)
class CacheCurve:
    """Cache of one sequence on one GPU by length: a sum of capped lines, in 32nds of a byte."""

    fixed: int  # recurrent states, for any length
    # (window, amount per token): layers that grow up to `window` tokens; a window of None never
    # ends.
    lines: tuple[tuple[int | None, int], ...]

    def bytes_at(self, context: int, cell_multiple: int = 1) -> int:
        """Return bytes of a sequence, each layer's tokens rounded up to a multiple."""
        amount = self.fixed
        for window, per_token in self.lines:
            tokens = context if window is None else min(context, window)
            amount += -(-tokens // cell_multiple) * cell_multiple * per_token
        return -(-amount // STEPS)


@lru_cache(maxsize=256)
def cache_curve(architecture: Architecture, kv_dtype: str, shards: int) -> CacheCurve:
    """Return the cache of one sequence on one of `shards` tensor-parallel GPUs."""
    # Grouped heads are divided among the GPUs, at least one head each; the MLA latent is replicated
    # on every one. Sliding layers keep their window, and what they compress.
    widths = _widths(kv_dtype)
    fixed, lines = 0, dict[int | None, int]()
    for run in architecture.layer_plan:
        for part in run.layer.parts:
            whole, (held, of) = widths.amount(part.elements), part.share(shards)
            if not part.tokens_each:
                fixed += run.count * -(-whole // STEPS * held // of) * STEPS
                continue
            amount = run.count * -(-whole * held // of)
            lines[part.limit] = lines.get(part.limit, 0) + -(-amount // part.tokens_each)
    return CacheCurve(fixed, tuple(lines.items()))


def kv_cache_bytes(
    architecture: Architecture | None,
    context: int,
    concurrency: int,
    kv_dtype: str,
    *,
    shards: int = 1,
    cell_multiple: int = 1,
) -> int:
    """Return cache bytes on one of `shards` tensor-parallel GPUs for `concurrency` sequences.

    `cell_multiple` rounds the tokens of a sequence up as the engine's allocator does.
    """
    if architecture is None or not architecture.generates:
        return 0
    curve = cache_curve(architecture, kv_dtype, shards)
    return curve.bytes_at(context, cell_multiple) * concurrency


def grows(architecture: Architecture) -> bool:
    """Return whether any layer's cache grows with context."""
    return architecture.generates and architecture.growing_elements_per_token > 0
