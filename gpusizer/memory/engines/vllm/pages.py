"""The paged cache of vLLM: blocks, groups of layers, pages of recurrent states.

Read in vllm/v1/core/kv_cache_utils.py and kv_cache_interface.py; the counts of pages and the
bytes per sequence that logs print are reproduced (data/SOURCES.md, "Serving engines").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpusizer.memory.engines.base import Split
from gpusizer.memory.engines.vllm.compressed_pages import CompressedCache
from gpusizer.memory.engines.vllm.part_pages import PageKind, PartPages
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.weights import stage_edges
from gpusizer.model.architecture import Architecture, LayerRun, kinds_between
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.layer_kinds.parts import StatePart

BLOCK = 16  # tokens of a block

_BALANCED = 1.5  # kinds whose layer counts differ less are padded to the larger one
_WINDOW_IGNORED = frozenset({"phi3"})  # runs as Llama, whose code has no window
_CONV_WINDOW = 3  # inputs that short convolutions of four look back on


@dataclass(frozen=True, slots=True)
class Cache:
    """Paged cache of a model on each GPU of one pipeline stage."""

    kinds: tuple[PageKind, ...]  # layers by page
    grouped: bool  # kinds share pages in groups of equally many layers
    state_pages: int  # pages per group of recurrent layers and sequence
    step_tokens: int  # most tokens in flight that a window keeps beside its own

    def bytes_at(self, context: int) -> int:
        """Return the cache bytes of one sequence of `context` tokens."""
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
        """Bytes of a block in every layer of a group; 0 without states in pages."""
        # Each recurrent state needs one such block.
        if not self.grouped or not any(kind.state for kind in self.kinds):
            return 0
        return _group_size([kind.layers for kind in self.kinds]) * self._page()[0]

    def _page(self) -> tuple[int, int]:
        """Return bytes of a page of one layer, and the tokens it fits of the widest attention."""
        token = max(kind.token for kind in self.kinds)
        state = max(kind.state for kind in self.kinds)
        # Blocks of attention grow until a page holds a state.
        tokens = BLOCK if not state or not token else -(-state // (BLOCK * token)) * BLOCK
        return max(tokens * token, state), max(tokens, BLOCK)

    def _pages(self, kind: PageKind, context: int, page: int, tokens: int) -> int:
        if kind.state:
            return self.state_pages
        # A kind with fewer bytes per token fits more tokens in a page.
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
    release: VllmRelease,
    draft_tokens: int = 0,
    *,
    own_drafts: bool = True,
    prefix_caching: bool | None = None,
) -> tuple[Cache | CompressedCache, ...]:
    """Return the cache on each pipeline stage's GPUs."""
    layers = arch.layer_plan
    edges = stage_edges(sum(run.count for run in layers), split.pipeline)
    # The model's own draft layers run on the last stage: one more layer that keeps everything.
    # Every recurrent state has room for the guessed tokens, whatever guesses them.
    if draft_tokens:
        layers = tuple(LayerRun(_with_drafts(r.layer, draft_tokens), r.count) for r in layers)
        lasting = [run.layer for run in layers if run.layer.lasts]
        draft = lasting[-1:] if own_drafts else []
        layers += tuple(LayerRun(layer.as_draft()) for layer in draft)
        edges[-1] += len(draft)
    part_pages = PartPages.from_release(arch, kv_dtype, split.tensor, release)
    windows = release.grouped_pages and arch.model_type not in _WINDOW_IGNORED
    state_pages = _state_pages(release, draft_tokens, prefix_caching=prefix_caching)
    stages: list[Cache | CompressedCache] = []
    for runs in kinds_between(layers, edges):
        if compresses(runs):
            stages.append(CompressedCache(tuple(runs), kv_dtype, step_tokens, release))
            continue
        kinds = _page_kinds(runs, part_pages, windows=windows)
        stages.append(Cache(kinds, _is_grouped(kinds), state_pages, step_tokens))
    return tuple(stages)


def _page_kinds(
    runs: Sequence[LayerRun], part_pages: PartPages, *, windows: bool
) -> tuple[PageKind, ...]:
    # Parts of layers are counted by equal pages. A part beside others counts as a layer of its own:
    # an indexer, and a state beside attention (`FalconH1ParallelHybrid` has both).
    counts: dict[PageKind, int] = {}
    for run in runs:
        # Chunked layers keep everything unless an experimental switch is set.
        bounded = windows and not run.layer.is_chunked
        for part in run.layer.parts:
            page = part.read_by(part_pages)
            if page is not None:
                page = page if bounded else replace(page, window=None)
                counts[page] = counts.get(page, 0) + run.count
    return tuple(replace(page, layers=count) for page, count in counts.items())


def _state_pages(release: VllmRelease, draft_tokens: int, *, prefix_caching: bool | None) -> int:
    # `MambaSpec.max_memory_usage_bytes`: one, one for each token guessed ahead, and one more for
    # prefix caching, whose mode is "align" for models with gated delta rules (`mamba_cache_mode`;
    # logs of 0.27 say so). It was off for models with recurrent layers unless asked for (pull
    # request 46778), and is on since 0.28 (50991). V0 kept states outside the paged cache.
    if release.profiles_whole_prompts:
        return 0
    cached = release.caches_prefixes if prefix_caching is None else prefix_caching
    return 1 + draft_tokens + int(cached)


def _with_drafts(layer: Layer, tokens: int) -> Layer:
    # The convolution state of a recurrent layer also has room for draft tokens.
    def longer(state: StatePart) -> StatePart:
        more = state.conv_size // _CONV_WINDOW * tokens
        return replace(state, size=state.size + more, conv_size=state.conv_size + more)

    return layer.with_state(longer)


def _is_grouped(kinds: tuple[PageKind, ...]) -> bool:
    # Models whose layers all keep everything need no groups.
    return any(kind.window is not None or (kind.state and kind.token) for kind in kinds) or (
        any(kind.state for kind in kinds) and any(kind.token for kind in kinds)
    )


def _group_size(counts: list[int]) -> int:
    # Layers of the rarest kind, or of all kinds if they nearly balance.
    fewest, most = min(counts), max(counts)
    return most if most < fewest * _BALANCED else fewest


def compresses(plan: Iterable[LayerRun]) -> bool:
    """Return whether tokens of any layer share entries."""
    return any(run.layer.compresses for run in plan)
