"""Layers that read a few of their tokens: those that an indexer finds, and shared entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusizer.model.architecture.layer_kinds.layer import Layer, LayerAndMore
from gpusizer.model.architecture.layer_kinds.parts import (
    CachePart,
    EntryPart,
    IndexPart,
)


@dataclass(frozen=True)
class IndexedAttention(LayerAndMore):
    """Attends to the tokens that an indexer finds, by `indexer_width` elements of each
    (DeepSeek-V3.2)."""

    indexer_width: int = 0

    def made_of(self) -> Iterator[CachePart]:
        yield from self.attends.parts
        yield IndexPart(self.indexer_width)

    def without_index(self) -> Layer:
        return self.attends


@dataclass(frozen=True)
class CompressedAttention(LayerAndMore):
    """Attends within a window to vectors that are key and value at once, and keeps beside it one
    more for every few tokens of the whole context (DeepSeek-V4).

    Attributes:
        rope_width: rotary part of a vector.
        compress_ratio: tokens that share an entry, 0 for none: a layer with a window alone.
        indexer_width: elements by which an indexer finds an entry, or a token where none is shared.
    """

    rope_width: int = 0
    compress_ratio: int = 0
    indexer_width: int = 0

    def made_of(self) -> Iterator[CachePart]:
        vectors = self.attends.tokens
        if vectors is None:
            return
        yield replace(vectors, rope_width=self.rope_width)
        if self.compress_ratio:
            width, index = vectors.key_width, self.indexer_width
            yield EntryPart(width, index, self.compress_ratio, self.rope_width)
        elif self.indexer_width:
            yield IndexPart(self.indexer_width)

    def without_index(self) -> Layer:
        """Entries keep theirs, with which alone they are read."""
        return self if self.compress_ratio else replace(self, indexer_width=0)

    def as_draft(self) -> Layer:
        """A window alone: DeepSeek-V4's `compress_ratios` end with a 0 for it."""
        return replace(self, compress_ratio=0, indexer_width=0)
