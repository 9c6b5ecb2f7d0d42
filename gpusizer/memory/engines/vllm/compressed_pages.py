"""The cache of DeepSeek-V4 in vLLM: windows, entries that tokens share, states of compressors.

Sizes of blocks are those of the engine (vLLM blog, "DeepSeek V4 in vLLM", 2026-04-24: a logical
block of 256 tokens, compressor states kept like sliding windows, pages of equal size in a pool).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.memory.engines.vllm.part_pages import EIGHT_BITS, INDEX_SCALE, WIDE
from gpusizer.memory.kv_cache import STATE_BYTES, key_and_value_bytes
from gpusizer.model.architecture import LayerRun
from gpusizer.model.architecture.layer_kinds.parts import (
    EntryPart,
    IndexPart,
    LatentPart,
    StatePart,
    TokenPart,
)

_BLOCK_TOKENS = 256
_BLOCK_ENTRIES = 64  # of a window, and of layers that compress four tokens to one
_OVERLAPPING = 4  # the ratio whose entries also see the tokens of the entry before
_STATE_BLOCK = {_OVERLAPPING: 4, 128: 8}  # tokens of a block of compressor states, by ratio
_FOOTER_BYTES = 8  # scales of one entry of fp8_ds_mla: 448 values, 64 in 16 bits, 584 bytes


@dataclass(frozen=True, slots=True)
class CompressedCache:
    """The cache of one pipeline stage. `kv_dtype` "auto" means fp8_ds_mla, as in the engine.

    With the values of DeepSeek-V4-Flash and steps of 8,192 tokens a sequence of 912,128 comes to
    6.03 GiB; issue 51041 reports 6.32.
    """

    runs: tuple[LayerRun, ...]
    kv_dtype: str
    step_tokens: int
    state_block_bytes: int = 0

    def bytes_at(self, context: int) -> int:
        """Cache of one sequence of `context` tokens."""
        sequence = _Sequence(self.kv_dtype, self.step_tokens, context)
        return sum(
            run.count * part.read_by(sequence) for run in self.runs for part in run.layer.parts
        )


@dataclass(frozen=True, slots=True)
class _Sequence:
    """Bytes of each part of one layer for one sequence."""

    kv_dtype: str
    step_tokens: int
    context: int

    def tokens(self, part: TokenPart) -> int:
        """Pages of the window."""
        blocks = self._blocks(part.window or self.context, _BLOCK_ENTRIES)
        width = part.key_width + part.value_width
        return blocks * _BLOCK_ENTRIES * self._vector_bytes(width, part.rope_width)

    def latent(self, part: LatentPart) -> int:
        """Pages of the window, as of tokens."""
        return self.tokens(part)

    def index(self, part: IndexPart) -> int:
        """Pages of an indexer's keys of every token."""
        blocks = -(-self.context // _BLOCK_TOKENS)
        return blocks * _BLOCK_TOKENS * self._index_bytes(part.width)

    def entries(self, part: EntryPart) -> int:
        """Pages of the entries, and of the states from which the next ones are made."""
        ratio = part.ratio
        entry = self._vector_bytes(part.width, part.rope_width)
        both = entry + self._index_bytes(part.index_width)
        kept = -(-self.context // _BLOCK_TOKENS) * (_BLOCK_TOKENS // ratio) * both
        reach = ratio * 2 if ratio == _OVERLAPPING else ratio
        states = self._blocks(reach, _STATE_BLOCK.get(ratio, _BLOCK_ENTRIES))
        return kept + states * _BLOCK_ENTRIES * both

    def state(self, part: StatePart) -> int:
        """A state beside them, in FP32."""
        return part.size * STATE_BYTES

    def _blocks(self, window: int, block: int) -> int:
        """Blocks of a window that a step of the scheduler moves on."""
        tokens = min(window - 1 + self.step_tokens, self.context)
        return -(-tokens // block) + 1

    def _vector_bytes(self, width: int, rope: int) -> int:
        if self.kv_dtype in EIGHT_BITS:
            return width + rope * (WIDE - 1) + _FOOTER_BYTES
        return int(width * key_and_value_bytes(self.kv_dtype)[0])

    def _index_bytes(self, width: int) -> int:
        if self.kv_dtype in EIGHT_BITS:
            return width + (INDEX_SCALE if width else 0)
        return int(width * key_and_value_bytes(self.kv_dtype)[0])
