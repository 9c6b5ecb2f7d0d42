"""The cache of DeepSeek-V4 under vLLM: windows, compressed entries and the compressors' states.

Sizes of blocks are those of the engine (vLLM blog, "DeepSeek V4 in vLLM", 2026-04-24: a logical
block of 256 tokens, compressor states kept like sliding windows, pages of equal size in a pool).
With the values of DeepSeek-V4-Flash and steps of 8,192 tokens a sequence of 912,128 comes to 6.03
GiB; issue 51041 reports 6.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.model.architecture import Attention, LayerSpec

_BLOCK_TOKENS = 256
_BLOCK_ENTRIES = 64  # of a window, and of layers that compress four tokens to one
_OVERLAPPING = 4  # the ratio whose entries also see the tokens of the entry before
_STATE_BLOCK = {_OVERLAPPING: 4, 128: 8}  # tokens of a block of compressor states, by ratio
_FOOTER_BYTES = 8  # scales of one entry of fp8_ds_mla: 448 values, 64 in 16 bits, 584 bytes
_INDEXER_SCALE_BYTES = 4
_WIDE = 2
_EIGHT_BITS = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2")


@dataclass(frozen=True, slots=True)
class CompressedCache:
    """The cache of one pipeline stage. `kv_dtype` "auto" means fp8_ds_mla, as in the engine."""

    specs: tuple[LayerSpec, ...]
    kv_dtype: str
    step_tokens: int

    def bytes_at(self, context: int) -> int:
        """Cache of one sequence of `context` tokens."""
        return sum(spec.count * self._layer(spec, context) for spec in self.specs)

    def _layer(self, spec: LayerSpec, context: int) -> int:
        entry, indexer = self._entry_bytes(spec)
        page, indexer_page = _BLOCK_ENTRIES * entry, _BLOCK_ENTRIES * indexer
        total = self._blocks(spec.window or context, _BLOCK_ENTRIES, context) * page
        ratio = spec.compress_ratio
        if not ratio:
            return total
        blocks = -(-context // _BLOCK_TOKENS)
        total += blocks * (_BLOCK_TOKENS // ratio) * (entry + indexer)
        reach = ratio * 2 if ratio == _OVERLAPPING else ratio
        states = self._blocks(reach, _STATE_BLOCK.get(ratio, _BLOCK_ENTRIES), context)
        return total + states * (page + indexer_page)

    def _blocks(self, window: int, block: int, context: int) -> int:
        """Blocks of a window that a step of the scheduler moves on."""
        tokens = min(window - 1 + self.step_tokens, context)
        return -(-tokens // block) + 1

    def _entry_bytes(self, spec: LayerSpec) -> tuple[int, int]:
        """Bytes of one entry and of the indexer's beside it."""
        if self.kv_dtype in _EIGHT_BITS:
            entry = spec.key_width - spec.rope_width + spec.rope_width * _WIDE + _FOOTER_BYTES
            scale = _INDEXER_SCALE_BYTES if spec.indexer_width else 0
            return entry, spec.indexer_width + scale
        width = key_and_value_bytes(self.kv_dtype)[0]
        return int(spec.key_width * width), int(spec.indexer_width * width)


def compresses(specs: Sequence[LayerSpec]) -> bool:
    """Whether any layer keeps compressed entries beside its window."""
    return any(spec.attention is Attention.SLIDING and spec.compress_ratio for spec in specs)
