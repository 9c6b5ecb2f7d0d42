"""Kinds of layers: a class for each kind of cache, behind one interface."""

from __future__ import annotations

from gpusizer.model.architecture.layer_kinds.attention import (
    CachelessLayer,
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    LatentAttention,
    SlidingAttention,
)
from gpusizer.model.architecture.layer_kinds.layer import Layer, LayerAndMore, LayerWord
from gpusizer.model.architecture.layer_kinds.recurrent import AttentionWithState, RecurrentLayer
from gpusizer.model.architecture.layer_kinds.sparse import CompressedAttention, IndexedAttention

__all__ = [
    "AttentionWithState",
    "CachelessLayer",
    "ChunkedAttention",
    "CompressedAttention",
    "CrossAttention",
    "FullAttention",
    "IndexedAttention",
    "LatentAttention",
    "Layer",
    "LayerAndMore",
    "LayerWord",
    "RecurrentLayer",
    "SlidingAttention",
]
