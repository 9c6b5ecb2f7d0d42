"""Architecture: the facts of a language model that its memory and speed depend on."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Literal

from gpusizer.model.architecture.rotary import Rotary


class Attention(StrEnum):
    """What a layer caches of earlier tokens."""

    FULL = "full"
    SLIDING = "sliding"  # last `window` tokens
    CHUNKED = "chunked"  # tokens of the current chunk of `window`
    MLA = "mla"  # one latent vector per token instead of per-head keys and values
    CROSS = "cross"  # attends to an encoder's output: does not grow with generated tokens
    RECURRENT = "recurrent"  # Mamba, linear attention, short convolution: a fixed state
    NONE = "none"  # no attention at all, or cache shared with an earlier layer


Confidence = Literal["known", "by_tensors", "unknown_parts"]

GROWING = frozenset({Attention.FULL, Attention.SLIDING, Attention.CHUNKED, Attention.MLA})
"""Kinds whose cache grows with context, at least up to the window."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A run of equal layers.

    Attributes:
        attention: how these layers remember.
        count: how many layers.
        key_width: cached key elements per token and layer (MLA: the whole latent).
        value_width: cached value elements per token and layer (MLA: 0).
        kv_heads: heads the cache can be split over; 1 for MLA, whose latent is replicated.
        window: tokens kept by sliding and chunked layers, else None.
        state_elements: fixed elements per sequence and layer: of recurrent layers, and of those
            that attend and keep a state at once (Falcon-H1).
        conv_elements: of these, the inputs that the short convolution remembers.
        wide_state: the configuration asks for an FP32 state beside 16-bit convolution inputs.
        rope_width: rotary part of an MLA latent.
        head_keys, head_values: elements of all heads that an MLA latent expands to.
        indexer_width: elements cached besides, by which sparse attention picks its tokens.
        compress_ratio: tokens that share one more entry beside the window, for all of the context
            (DeepSeek-V4's compressed layers); 0 for none. Their indexer has as many entries.
    """

    attention: Attention
    count: int
    key_width: int = 0
    value_width: int = 0
    kv_heads: int = 1
    window: int | None = None
    state_elements: int = 0
    conv_elements: int = 0
    wide_state: bool = False
    rope_width: int = 0
    head_keys: int = 0
    head_values: int = 0
    indexer_width: int = 0
    compress_ratio: int = 0

    @property
    def grows(self) -> bool:
        """Whether their cache grows with context, at least up to a window."""
        return self.attention in GROWING

    @property
    def lasts(self) -> bool:
        """Whether they keep every token as it is."""
        return self.attention in (Attention.FULL, Attention.MLA) and self.window is None

    @property
    def grows_evenly(self) -> bool:
        """Whether a token costs the same wherever it is, and nothing is kept besides."""
        return not self.has_state and (self.lasts or not self.grows)

    @property
    def is_latent(self) -> bool:
        """Whether one latent of a token serves all heads."""
        return self.attention is Attention.MLA

    @property
    def is_chunked(self) -> bool:
        """Whether they attend within chunks of the context."""
        return self.attention is Attention.CHUNKED

    @property
    def crosses(self) -> bool:
        """Whether they attend to what an encoder left."""
        return self.attention is Attention.CROSS

    @property
    def is_recurrent(self) -> bool:
        """Whether these layers keep a recurrent state and no token."""
        return self.attention is Attention.RECURRENT

    @property
    def has_state(self) -> bool:
        """Whether these layers keep a recurrent state, alone or beside tokens."""
        return self.is_recurrent or self.state_elements > 0

    def without_window(self) -> LayerSpec:
        """The same layers where an engine keeps every token."""
        attention = self.attention if self.is_latent else Attention.FULL
        return replace(self, attention=attention, window=None)

    def as_heads(self) -> LayerSpec:
        """Latent layers where an engine keeps keys and values of every head."""
        keys, values = self.head_keys, self.head_values
        return replace(self, attention=Attention.FULL, key_width=keys, value_width=values)

    def parts(self) -> Iterator[LayerSpec]:
        """What these layers keep, apart: a state, tokens, compressed entries, an indexer's keys."""
        alone = replace(self, compress_ratio=0, indexer_width=0)
        if self.has_state:
            yield replace(alone, attention=Attention.RECURRENT)
        yield replace(alone, state_elements=0)
        if self.compress_ratio:
            yield replace(self, key_width=0, value_width=0, state_elements=0)
        elif self.indexer_width:
            yield LayerSpec(Attention.FULL, 1, key_width=self.indexer_width)

    @property
    def indexed_elements(self) -> int:
        """Elements of a token by which sparse attention finds it; compressed entries have their
        own."""
        return 0 if self.compress_ratio else self.indexer_width

    @property
    def compressed_elements(self) -> int:
        """Elements of one compressed entry, the indexer's included; 0 where nothing is."""
        return self.key_width + self.indexer_width if self.compress_ratio else 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """The language model. A field is None where neither configuration nor tensors state it.

    Attributes:
        attention_heads, kv_heads, head_dim: of ordinary attention layers.
        max_context: longest sequence the configuration allows, in tokens.
        experts, experts_per_token: routed experts per MoE layer, and how many each token uses.
        expert_width: inner width of one routed expert.
        tied_embeddings: input and output embedding are one matrix.
        generates: whether the model produces text token by token (needs a KV cache).
        reads: of a model that generates nothing: text, or "other" (images, sound) alone.
        layer_plan: caches in the order in which a token meets them, equal neighbours merged: one
            for each layer, several of a layer that attends or runs several times. Left out of the
            hash, which caches ask for often: a plan may have hundreds of runs.
        rotary: kinds of rotary positions, whose tables engines keep.
        recovered: values read off tensor shapes because the configuration omits them.
        defaulted: values taken from the model class's defaults (`data/class_defaults.json`).
        claimed_layers: layers by the configuration where the tensors hold fewer, which count.
        unknown_parts: of what memory and speed depend on, in a few words each: "12 of 48 layers:
            indexed_attention".
    """

    model_type: str
    layers: int
    hidden_size: int | None
    intermediate_size: int | None
    vocab_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    max_context: int | None
    experts: int | None
    experts_per_token: int | None
    tied_embeddings: bool
    generates: bool
    layer_plan: tuple[LayerSpec, ...] = field(hash=False)
    expert_width: int | None = None
    rotary: tuple[Rotary, ...] = ()
    recovered: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    claimed_layers: int | None = None
    reads: Literal["text", "other"] = "text"
    unknown_parts: tuple[str, ...] = ()

    @property
    def confidence(self) -> Confidence:
        """How much of it is known: all by the configuration, some by the tensors' shapes alone, or
        some not at all."""
        if self.unknown_parts:
            return "unknown_parts"
        return "by_tensors" if self.recovered or self.claimed_layers is not None else "known"

    @property
    def growing_elements_per_token(self) -> int:
        """Cache elements each new token adds over all layers, before any window is full."""
        return sum(
            spec.count
            * (
                spec.key_width
                + spec.value_width
                + spec.indexed_elements
                + spec.compressed_elements // max(1, spec.compress_ratio)
            )
            for spec in self.layer_plan
            if spec.grows
        )


def kinds_between(plan: Sequence[LayerSpec], edges: Sequence[int]) -> list[list[LayerSpec]]:
    """The layers from each edge to the next by kind, in order of first appearance.

    Layers that differ in nothing but their place are one spec with their `count`, so that what a
    stretch of layers costs is a sum over its few kinds.
    """
    ends = list(accumulate(spec.count for spec in plan))
    stretches = []
    for first, last in pairwise(edges):
        counts: Counter[LayerSpec] = Counter()
        number = bisect_right(ends, first)
        while first < last and number < len(plan):
            stop = min(ends[number], last)
            counts[_one_layer(plan[number])] += stop - first
            first, number = stop, number + 1
        stretches.append([replace(spec, count=count) for spec, count in counts.items()])
    return stretches


def _one_layer(spec: LayerSpec) -> LayerSpec:
    return spec if spec.count == 1 else replace(spec, count=1)


def merge_runs(specs: Iterable[LayerSpec]) -> tuple[LayerSpec, ...]:
    """Layers in order with equal neighbours merged into one spec."""
    merged: list[LayerSpec] = []
    for spec in specs:
        if merged and _one_layer(merged[-1]) == _one_layer(spec):
            spec = replace(spec, count=merged.pop().count + spec.count)
        merged.append(spec)
    return tuple(merged)
