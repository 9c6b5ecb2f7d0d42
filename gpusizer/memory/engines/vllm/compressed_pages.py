"""Cache of DeepSeek-V4 in vLLM: windows, entries that tokens share, states of compressors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpusizer.memory.engines.vllm.part_pages import EIGHT_BITS, INDEX_SCALE, WIDE
from gpusizer.memory.engines.vllm.releases import VllmRelease
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
_WINDOW_BLOCK = 64  # DeepseekV4SWACache, vllm/v1/attention/backends/mla/sparse_swa.py
_OVERLAPPING = 4  # the ratio whose entries also see the tokens of the entry before
_STATE_BLOCK = {_OVERLAPPING: 4}  # CompressorStateCache, vllm/models/deepseek_v4/compressor.py
_USUAL_STATE_BLOCK = 8
_FOOTER_BYTES = 8  # scales of one entry of fp8_ds_mla: 448 values, 64 in 16 bits, 584 bytes
_ALIGNED_EIGHT = 576  # bytes that pages of fp8_ds_mla are rounded up to, and others
_ALIGNED_WIDE = 512
_PACKED_SINCE = (0, 24, 0)  # `_get_kv_cache_config_packed`: no empty pages of the smaller sizes
_UNPADDED_SINCE = (0, 29, 0)  # `_get_packed_kv_cache_groups`: groups share no pages, only a block


# Layers are dealt out to groups whose pages share one pool of blocks: entries and their indexes in
# one, windows and states in others of as many layers. A block has room for a page of every layer of
# the largest group, whichever group it is given to (`_get_kv_cache_groups_uniform_groups` and
# `_max_memory_usage_bytes_from_groups` of vllm/v1/core/kv_cache_utils.py, 0.20 to 0.30).
@dataclass(frozen=True, slots=True)
class _Page:
    """Page of one layer: bytes, and the tokens of a block; `window` None keeps everything."""

    size: int
    block: int
    window: int | None = None


@dataclass(frozen=True, slots=True)
class _Group:
    """Layers with one table of blocks: `layers` counts them by bytes of a page."""

    block: int
    window: int | None
    layers: Mapping[int, int]

    @property
    def page_bytes(self) -> int:
        """Bytes of a page of each layer."""
        return sum(size * count for size, count in self.layers.items())

    def blocks(self, context: int, in_flight: int) -> int:
        """Return the blocks of one sequence."""
        if self.window is None:
            return -(-context // self.block)
        # A window keeps the tokens in flight beside its own, and may not start where a block does
        # (`max_admission_blocks_per_request`).
        return -(-min(self.window - 1 + in_flight, context) // self.block) + 1


@dataclass(frozen=True)
class CompressedCache:
    """Cache of one pipeline stage, whole on every rank.

    `kv_dtype` "auto" means fp8_ds_mla, as in the engine. `step_tokens` are those in flight.
    """

    # Checked on DeepSeek-V4-Flash under 0.22: 6.66 GiB for 30,000 tokens in steps of 16,384, and
    # 13,528 tokens in 5.44 GiB (issue 44376). Logs up to 0.26 print 6 to 12 % more tokens than
    # start-up lets in: they weighed a group's blocks by what its layers fill of them
    # (`get_max_concurrency_for_kv_cache_config`).
    runs: tuple[LayerRun, ...]
    kv_dtype: str
    step_tokens: int
    release: VllmRelease
    state_block_bytes: int = 0

    def bytes_at(self, context: int) -> int:
        """Return the cache bytes of one sequence of `context` tokens."""
        blocks = sum(group.blocks(context, self.step_tokens) for group in self._groups)
        return blocks * self._block_bytes + self._beside_bytes

    @cached_property
    def _groups(self) -> tuple[_Group, ...]:
        pages = _Pages(self.kv_dtype)
        lasting: Counter[int] = Counter()
        passing: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for run in self.runs:
            for part in run.layer.parts:
                for page in part.read_by(pages):
                    if page.window is None:
                        lasting[page.size] += run.count
                    else:
                        passing[page.block, page.window][page.size] += run.count
        most = max(lasting.values())
        counts = [most, *(max(layers.values()) for layers in passing.values())]
        size = _least_padding(counts, most)
        # The group that keeps everything comes first.
        groups = [_Group(_BLOCK_TOKENS, None, lasting)]
        for (block, window), layers in passing.items():
            number = -(-max(layers.values()) // size)
            for index in range(number):
                padded: Counter[int] = Counter()
                for width, count in layers.items():
                    fitting = min((s for s in lasting if s >= width), default=width)
                    held = fitting if self.release.since < _UNPADDED_SINCE else width
                    padded[held] += len(range(index, count, number))
                groups.append(_Group(block, window, padded))
        return tuple(groups)

    @cached_property
    def _block_bytes(self) -> int:
        """Bytes of one block."""
        # All pages of the largest group; before 0.29 a page of each size for the most layers that
        # any group has of it; before 0.24 a page of each size for the most of any size.
        if self.release.since >= _UNPADDED_SINCE:
            return max(group.page_bytes for group in self._groups)
        sizes = {size for group in self._groups for size in group.layers}
        slots = {size: max(group.layers.get(size, 0) for group in self._groups) for size in sizes}
        if self.release.since < _PACKED_SINCE:
            return sum(sizes) * max(slots.values())
        return sum(size * count for size, count in slots.items())

    @cached_property
    def _beside_bytes(self) -> int:
        """Bytes of FP32 states that a layer keeps beside its pages."""
        states = ((run.count, run.layer.state) for run in self.runs)
        return sum(count * state.size * STATE_BYTES for count, state in states if state)


def _least_padding(counts: Sequence[int], least: int) -> int:
    # The size of groups that leaves the fewest layers empty if `counts` are dealt out to whole
    # groups; among equals the largest (`_approximate_gcd`).
    return min(
        range(least, max(counts) + 1),
        key=lambda size: (sum(-count % size for count in counts), -size),
    )


@dataclass(frozen=True, slots=True)
class _Pages:
    """Reader that yields the pages of each part of one layer."""

    kv_dtype: str

    def tokens(self, part: TokenPart) -> Iterator[_Page]:
        """Yield the page of vectors within the window."""
        vector = self._vector_bytes(part.key_width + part.value_width, part.rope_width)
        if part.window is None:
            yield _Page(self._aligned(_BLOCK_TOKENS * vector), _BLOCK_TOKENS)
        else:
            yield _Page(self._aligned(_WINDOW_BLOCK * vector), _WINDOW_BLOCK, part.window)

    def latent(self, part: LatentPart) -> Iterator[_Page]:
        return self.tokens(part)

    def index(self, part: IndexPart) -> Iterator[_Page]:
        """Yield the page of an indexer's keys of every token, always in 8 bits."""
        yield _Page(self._aligned(_BLOCK_TOKENS * (part.width + INDEX_SCALE)), _BLOCK_TOKENS)

    def entries(self, part: EntryPart) -> Iterator[_Page]:
        """Yield pages of entries and indexes, and of the FP32 states that make the next ones."""
        # A state has a vector and its score, for two entries where they overlap.
        ratio, both = part.ratio, 2 if part.ratio == _OVERLAPPING else 1
        block = _STATE_BLOCK.get(ratio, _USUAL_STATE_BLOCK)
        entries = _BLOCK_TOKENS // ratio
        vector = self._vector_bytes(part.width, part.rope_width)
        for width, entry in ((part.width, vector), (part.index_width, self._index_bytes(part))):
            if width:
                yield _Page(self._aligned(entries * entry), _BLOCK_TOKENS)
                state = block * 2 * both * width * STATE_BYTES
                yield _Page(self._aligned(state), block, ratio * both)

    def state(self, part: StatePart) -> Iterator[_Page]:
        # A state lies beside the pages.
        return iter(())

    def _index_bytes(self, part: EntryPart) -> int:
        return part.index_width + INDEX_SCALE

    def _vector_bytes(self, width: int, rope: int) -> int:
        if self.kv_dtype in EIGHT_BITS:
            return width + rope * (WIDE - 1) + _FOOTER_BYTES
        return int(width * key_and_value_bytes(self.kv_dtype)[0])

    def _aligned(self, size: int) -> int:
        step = _ALIGNED_EIGHT if self.kv_dtype in EIGHT_BITS else _ALIGNED_WIDE
        return -(-size // step) * step
