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
    """Attention to tokens found by `indexer_width` elements of each (DeepSeek-V3.2)."""

    indexer_width: int = 0

    def made_of(self) -> Iterator[CachePart]:
        yield from self.attends.parts
        yield IndexPart(self.indexer_width)

    def without_index(self) -> Layer:
        return self.attends


@dataclass(frozen=True)
class CompressedAttention(LayerAndMore):
    """Attention within a window, plus one shared vector for every few tokens (DeepSeek-V4).

    Vectors are key and value at once.
    """

    rope_width: int = 0  # elements of the rotary part
    compress_ratio: int = 0  # tokens that share an entry, 0 for a layer with a window alone
    # elements of an indexer's key for an entry, or for a token if none is shared
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
        # shared entries can only be read by the indexer
        return self if self.compress_ratio else replace(self, indexer_width=0)

    def as_draft(self) -> Layer:
        # a window alone: DeepSeek-V4's `compress_ratios` end with a 0 for it
        return replace(self, compress_ratio=0, indexer_width=0)
