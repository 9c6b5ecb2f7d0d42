"""Layers that attend (all tokens, a window, a chunk, a latent), and layers without own cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from gpusizer.model.architecture.layer_kinds.layer import Layer, LayerWord
from gpusizer.model.architecture.layer_kinds.parts import CachePart, LatentPart, TokenPart


@dataclass(frozen=True)
class FullAttention(Layer):
    """A layer that keeps keys and values of every token, in elements over `kv_heads` heads."""

    word: ClassVar[LayerWord] = "full"
    key_width: int = 0
    value_width: int = 0
    kv_heads: int = 1

    def made_of(self) -> Iterator[CachePart]:
        yield TokenPart(self.key_width, self.value_width, self.kv_heads)

    def seen_within(self, window: int) -> Layer:
        return SlidingAttention(self.key_width, self.value_width, self.kv_heads, window)


@dataclass(frozen=True)
class SlidingAttention(Layer):
    """A layer that keeps the last `window` tokens; None if their number is unknown."""

    word: ClassVar[LayerWord] = "sliding"
    key_width: int = 0
    value_width: int = 0
    kv_heads: int = 1
    window: int | None = None

    def made_of(self) -> Iterator[CachePart]:
        yield TokenPart(self.key_width, self.value_width, self.kv_heads, self.window)

    @property
    def lasts(self) -> bool:
        return False

    def without_window(self) -> Layer:
        # an unknown window stays: the layer does not keep every token
        if self.window is None:
            return self
        return FullAttention(self.key_width, self.value_width, self.kv_heads)

    def with_room(self, tokens: int) -> Layer:
        return self if self.window is None else replace(self, window=self.window + tokens)


@dataclass(frozen=True)
class ChunkedAttention(SlidingAttention):
    """A layer that keeps tokens of the current chunk of `window`."""

    word: ClassVar[LayerWord] = "chunked"

    @property
    def is_chunked(self) -> bool:
        return True


@dataclass(frozen=True)
class LatentAttention(Layer):
    """A layer that keeps one latent of a token for all heads (MLA)."""

    word: ClassVar[LayerWord] = "mla"
    key_width: int = 0  # elements of the latent, its rotary part included
    value_width: int = 0  # elements kept once more as values, by engines that do
    rope_width: int = 0  # elements of the rotary part
    head_keys: int = 0  # `head_keys`, `head_values`: elements of all heads that a latent expands to
    head_values: int = 0
    window: int | None = None  # tokens that stay, None for all

    def made_of(self) -> Iterator[CachePart]:
        yield LatentPart(
            self.key_width,
            self.value_width,
            window=self.window,
            rope_width=self.rope_width,
            head_keys=self.head_keys,
        )

    def without_window(self) -> Layer:
        return replace(self, window=None)

    def with_room(self, tokens: int) -> Layer:
        return self if self.window is None else replace(self, window=self.window + tokens)

    def as_heads(self) -> Layer:
        # if the heads are unknown, the latent stays
        if not self.head_keys:
            return self
        heads = FullAttention(self.head_keys, self.head_values)
        return heads if self.window is None else heads.seen_within(self.window)

    def as_twice(self) -> Layer:
        return replace(self, value_width=self.key_width - self.rope_width)


@dataclass(frozen=True)
class CrossAttention(Layer):
    """A layer that attends to an encoder's output, which does not grow with tokens."""

    word: ClassVar[LayerWord] = "cross"

    def made_of(self) -> Iterator[CachePart]:
        yield from ()

    @property
    def crosses(self) -> bool:
        return True


@dataclass(frozen=True)
class CachelessLayer(Layer):
    """A layer without a cache: no attention at all, or the cache of an earlier layer."""

    word: ClassVar[LayerWord] = "none"

    def made_of(self) -> Iterator[CachePart]:
        yield from ()
