"""The paged cache of vLLM: blocks, groups of layers, pages of recurrent states.

Read in vllm/v1/core/kv_cache_utils.py and kv_cache_interface.py; the counts of pages and the
bytes per sequence that logs print are reproduced (data/SOURCES.md, "Serving engines").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.vllm.eras import Era
from gpusizer.memory.engines.vllm.weights import stage_edges
from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.model.architecture import (
    Architecture,
    LayerSpec,
    kinds_between,
)

BLOCK = 16
"""Tokens of a block."""

_WIDE = 2
_STATE = 4  # bytes of a wide recurrent state
_BALANCED = 1.5  # kinds whose layer counts differ less are padded to the larger one
_WINDOW_IGNORED = frozenset({"phi3"})  # runs as Llama, whose code has no window
_LATENT_STEP = 128
_HEAD_STEP = 128  # V0 without MLA stored heads of 192 as 256
_SCALE_GROUP = 128  # fp8_ds_mla: an FP32 scale per 128 values, the rotary part in 16 bits
_CONV_WINDOW = 3  # inputs that short convolutions of four look back on
_INDEXER_SCALE = 4  # bytes of scale beside 8-bit indexer keys, per 128


@dataclass(frozen=True, slots=True)
class PageKind:
    """Layers with equal pages.

    Attributes:
        layers: how many.
        token: bytes of one token in one layer on one GPU.
        window: tokens that stay, None for all.
        state: bytes of a recurrent state, 0 for attention.
    """

    layers: int
    token: int
    window: int | None = None
    state: int = 0


@dataclass(frozen=True, slots=True)
class Cache:
    """The paged cache of a model on each GPU of one pipeline stage.

    Attributes:
        kinds: layers by page.
        grouped: kinds share pages in groups of equally many layers.
        state_pages: pages per group of recurrent layers and sequence.
        step_tokens: most tokens in flight that a window keeps beside its own.
    """

    kinds: tuple[PageKind, ...]
    grouped: bool
    state_pages: int
    step_tokens: int

    def bytes_at(self, context: int) -> int:
        """Cache of one sequence of `context` tokens."""
        if not self.kinds:
            return 0
        if not self.grouped:
            blocks = -(-context // BLOCK)
            return sum(k.layers * blocks * BLOCK * k.token + k.layers * k.state for k in self.kinds)
        size = _group_size([kind.layers for kind in self.kinds])
        page, state_block = self._page()
        pages = 0
        for kind in self.kinds:
            groups = -(-kind.layers // size)
            pages += groups * self._pages(kind, context, page, state_block)
        return pages * size * page

    @property
    def state_block_bytes(self) -> int:
        """Bytes of a block in every layer of a group, of which each recurrent state needs one; 0
        without states in pages."""
        if not self.grouped or not any(kind.state for kind in self.kinds):
            return 0
        return _group_size([kind.layers for kind in self.kinds]) * self._page()[0]

    def _page(self) -> tuple[int, int]:
        """Bytes of a page of one layer, and tokens of it that the widest attention layer fits.

        Where there are states, blocks of attention grow until a page holds one.
        """
        token = max(kind.token for kind in self.kinds)
        state = max(kind.state for kind in self.kinds)
        tokens = BLOCK if not state or not token else -(-state // (BLOCK * token)) * BLOCK
        return max(tokens * token, state), max(tokens, BLOCK)

    def _pages(self, kind: PageKind, context: int, page: int, tokens: int) -> int:
        """Pages of one group of layers; a kind with fewer bytes per token fits more tokens in a
        page.
        """
        if kind.state:
            return self.state_pages
        tokens_per_page = page // kind.token if page % kind.token == 0 else tokens
        if kind.window is None:
            return -(-context // tokens_per_page)
        window_tokens = min(kind.window - 1 + self.step_tokens, context)
        return -(-window_tokens // tokens_per_page) + 1


@lru_cache(maxsize=512)
def cache_of(
    arch: Architecture,
    kv_dtype: str,
    split: Split,
    step_tokens: int,
    era: Era,
    draft_tokens: int = 0,
    *,
    own_drafts: bool = True,
    prefix_caching: bool | None = None,
) -> tuple[Cache | CompressedCache, ...]:
    """The cache on each pipeline stage's GPUs.

    The model's own draft layers run on the last stage: one more layer that keeps everything. Every
    recurrent state has room for the tokens that are guessed, by whatever guesses them.
    """
    layers = arch.layer_plan
    edges = stage_edges(sum(spec.count for spec in layers), split.pipeline)
    if draft_tokens:
        layers = tuple(_with_drafts(spec, draft_tokens) for spec in layers)
        lasting = [s for s in layers if s.lasts]
        draft = lasting[-1:] if own_drafts else []
        layers += tuple(replace(spec, count=1) for spec in draft)
        edges[-1] += len(draft)
    ignored = not era.grouped_pages or arch.model_type in _WINDOW_IGNORED
    stages: list[Cache | CompressedCache] = []
    for specs in kinds_between(layers, edges):
        if compresses(specs):
            stages.append(CompressedCache(tuple(specs), kv_dtype, step_tokens))
            continue
        counts: dict[PageKind, int] = {}
        for spec in specs:
            for kind in _kinds(spec, arch, kv_dtype, split.tensor, era):
                # Chunked layers keep everything unless an experimental switch is set.
                full = ignored or spec.is_chunked
                kind = replace(kind, window=None) if full else kind
                counts[kind] = counts.get(kind, 0) + spec.count
        kinds = tuple(replace(kind, layers=count) for kind, count in counts.items())
        pages = _state_pages(era, draft_tokens, prefix_caching=prefix_caching)
        stages.append(Cache(kinds, _is_grouped(kinds), pages, step_tokens))
    return tuple(stages)


def _state_pages(era: Era, draft_tokens: int, *, prefix_caching: bool | None) -> int:
    """Pages of a sequence in each group of recurrent layers (`MambaSpec.max_memory_usage_bytes`).

    One, and one for each token guessed ahead; one more where prefix caching is on, whose mode is
    "align" for models with gated delta rules (`mamba_cache_mode`; logs of 0.27 say so). It was off
    for models with recurrent layers unless asked for (pull request 46778), and is on since 0.28
    (50991). V0 kept states outside the paged cache.
    """
    if era.profiles_whole_prompts:
        return 0
    cached = era.caches_prefixes if prefix_caching is None else prefix_caching
    return 1 + draft_tokens + int(cached)


def _with_drafts(spec: LayerSpec, tokens: int) -> LayerSpec:
    """A recurrent layer whose convolution state also has room for draft tokens."""
    more = spec.conv_elements // _CONV_WINDOW * tokens
    return replace(
        spec,
        conv_elements=spec.conv_elements + more,
        state_elements=spec.state_elements + more,
    )


def _is_grouped(kinds: tuple[PageKind, ...]) -> bool:
    """Whether pages are shared; models whose layers all keep everything need no groups."""
    return any(kind.window is not None or (kind.state and kind.token) for kind in kinds) or (
        any(kind.state for kind in kinds) and any(kind.token for kind in kinds)
    )


def _group_size(counts: list[int]) -> int:
    """Layers of one group: those of the rarest kind, or of all where they nearly balance."""
    fewest, most = min(counts), max(counts)
    return most if most < fewest * _BALANCED else fewest


def _kinds(
    spec: LayerSpec, arch: Architecture, kv_dtype: str, ranks: int, era: Era
) -> Iterator[PageKind]:
    """What one layer caches; sparse attention's indexer counts as a layer of its own, and so does a
    state beside attention (`FalconH1ParallelHybrid` has both). A state of unknown size has no page.
    """
    if spec.state_elements:
        wide = _STATE if spec.wide_state else _WIDE
        conv = spec.conv_elements * _WIDE
        state = (spec.state_elements - spec.conv_elements) * wide
        yield PageKind(1, 0, None, -(-(conv + state) // ranks))
    if spec.indexed_elements:
        width = spec.indexed_elements
        yield PageKind(1, width + -(-width // _SCALE_GROUP) * _INDEXER_SCALE)
    if spec.is_latent:
        yield PageKind(1, _latent_bytes(spec, arch, kv_dtype, ranks, era), spec.window)
    elif spec.grows and spec.key_width:
        heads = -(-spec.kv_heads // ranks)
        keys, values = key_and_value_bytes(kv_dtype)
        per_head = (spec.key_width * keys + spec.value_width * values) / spec.kv_heads
        yield PageKind(1, ceil(per_head * heads), spec.window)


def _latent_bytes(spec: LayerSpec, arch: Architecture, kv_dtype: str, ranks: int, era: Era) -> int:
    """Bytes of one token's latent in one layer; every rank holds it whole.

    Sparse models keep it as fp8_ds_mla unless 16 bits are asked for: 8-bit values, an FP32 scale
    per 128 of them, a 16-bit rotary part (656 bytes at 512 + 64).
    """
    latent, rope = spec.key_width - spec.rope_width, spec.rope_width
    if era.latent == "expanded":
        head = -(-(arch.head_dim or 0) // _HEAD_STEP) * _HEAD_STEP
        heads = -(-(arch.attention_heads or 1) // ranks)
        return int(heads * head * sum(key_and_value_bytes(kv_dtype)))
    sparse = any(layer.indexer_width for layer in arch.layer_plan)  # its choice may be shared
    if sparse and kv_dtype in ("auto", "fp8", "fp8_e4m3", "fp8_e5m2"):
        return latent + -(-latent // _SCALE_GROUP) * 4 + rope * _WIDE
    width = spec.key_width
    if era.latent == "padded":
        width = -(-width // _LATENT_STEP) * _LATENT_STEP
    return int(width * key_and_value_bytes(kv_dtype)[0])


_BLOCK_TOKENS = 256
_BLOCK_ENTRIES = 64  # of a window, and of layers that compress four tokens to one
_OVERLAPPING = 4  # the ratio whose entries also see the tokens of the entry before
_STATE_BLOCK = {_OVERLAPPING: 4, 128: 8}  # tokens of a block of compressor states, by ratio
_FOOTER_BYTES = 8  # scales of one entry of fp8_ds_mla: 448 values, 64 in 16 bits, 584 bytes
_INDEXER_SCALE_BYTES = 4
_EIGHT_BITS = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2")


@dataclass(frozen=True, slots=True)
class CompressedCache:
    """The cache of DeepSeek-V4 on one pipeline stage: windows, compressed entries and the
    compressors' states. `kv_dtype` "auto" means fp8_ds_mla, as in the engine.

    Sizes of blocks are those of the engine (vLLM blog, "DeepSeek V4 in vLLM", 2026-04-24: a logical
    block of 256 tokens, compressor states kept like sliding windows, pages of equal size in a
    pool). With the values of DeepSeek-V4-Flash and steps of 8,192 tokens a sequence of 912,128
    comes to 6.03 GiB; issue 51041 reports 6.32.
    """

    specs: tuple[LayerSpec, ...]
    kv_dtype: str
    step_tokens: int
    state_block_bytes: int = 0

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
    return any(spec.compress_ratio for spec in specs)
