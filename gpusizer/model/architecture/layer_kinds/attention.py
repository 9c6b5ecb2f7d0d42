"""Layers that attend: to all tokens, within a window or a chunk, by a latent; and those without a
cache of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from gpusizer.model.architecture.layer_kinds.layer import Layer, LayerWord
from gpusizer.model.architecture.layer_kinds.parts import CachePart, LatentPart, TokenPart


@dataclass(frozen=True)
class FullAttention(Layer):
    """Keeps keys and values of every token: `key_width` and `value_width` elements over
    `kv_heads` heads."""

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
    """Keeps the last `window` tokens, None where their number is not known."""

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
        """A layer whose window is not known stays one that does not last."""
        if self.window is None:
            return self
        return FullAttention(self.key_width, self.value_width, self.kv_heads)

    def with_room(self, tokens: int) -> Layer:
        return self if self.window is None else replace(self, window=self.window + tokens)


@dataclass(frozen=True)
class ChunkedAttention(SlidingAttention):
    """Keeps tokens of the current chunk of `window`."""

    word: ClassVar[LayerWord] = "chunked"

    @property
    def is_chunked(self) -> bool:
        return True


@dataclass(frozen=True)
class LatentAttention(Layer):
    """Keeps one latent of a token for all heads (MLA).

    Attributes:
        key_width: elements of the latent, its rotary part included.
        value_width: elements kept once more as values, by engines that do.
        rope_width: the rotary part.
        head_keys, head_values: elements of all heads that a latent expands to.
        window: tokens that stay, None for all.
    """

    word: ClassVar[LayerWord] = "mla"
    key_width: int = 0
    value_width: int = 0
    rope_width: int = 0
    head_keys: int = 0
    head_values: int = 0
    window: int | None = None

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
        """Where the heads are not known, the latent stays."""
        if not self.head_keys:
            return self
        heads = FullAttention(self.head_keys, self.head_values)
        return heads if self.window is None else heads.seen_within(self.window)

    def as_twice(self) -> Layer:
        return replace(self, value_width=self.key_width - self.rope_width)


@dataclass(frozen=True)
class CrossAttention(Layer):
    """Attends to an encoder's output, which does not grow with tokens."""

    word: ClassVar[LayerWord] = "cross"

    def made_of(self) -> Iterator[CachePart]:
        yield from ()

    @property
    def crosses(self) -> bool:
        return True


@dataclass(frozen=True)
class CachelessLayer(Layer):
    """Keeps nothing: no attention at all, or the cache of an earlier layer."""

    word: ClassVar[LayerWord] = "none"

    def made_of(self) -> Iterator[CachePart]:
        yield from ()
