"""Pages of vLLM for each part of a layer's cache: bytes of a token, or of a state.

Read in vllm/v1/kv_cache_interface.py and the attention backends (data/SOURCES.md, "Serving
engines").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.kv_cache import key_and_value_bytes
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds.parts import (
    EntryPart,
    IndexPart,
    LatentPart,
    StatePart,
    TokenPart,
)

WIDE = 2  # bytes of an element that is not quantized
# Types under which sparse models keep fp8_ds_mla.
EIGHT_BITS = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2")
INDEX_SCALE = 4  # bytes of scale beside 8-bit keys of an indexer
_STATE = 4  # bytes of a wide recurrent state
_LATENT_STEP = 128
_HEAD_STEP = 128  # V0 without MLA stored heads of 192 as 256
_SCALE_GROUP = 128  # fp8_ds_mla: an FP32 scale per 128 values, the rotary part in 16 bits


@dataclass(frozen=True, slots=True)
class PageKind:
    """Layers with equal pages."""

    layers: int  # their number
    token: int  # bytes of one token in one layer on one GPU
    window: int | None = None  # tokens that stay, None for all
    state: int = 0  # bytes of a recurrent state, 0 for attention


@dataclass(frozen=True, slots=True)
class PartPages:
    """Reader that gives the page of each part in one layer on one GPU, None if it needs none."""

    kv_dtype: str  # type of the cache
    ranks: int  # tensor-parallel GPUs
    latent_form: str  # form in which this version keeps a latent (`VllmRelease.latent`)
    sparse: bool  # some layer has an indexer, whose choice others may share
    head_bytes: int  # bytes of a latent that is expanded to heads, on one GPU

    @classmethod
    def from_release(
        cls, arch: Architecture, kv_dtype: str, ranks: int, release: VllmRelease
    ) -> PartPages:
        """Return the pages of a model under one version."""
        head = -(-(arch.head_dim or 0) // _HEAD_STEP) * _HEAD_STEP
        heads = -(-(arch.attention_heads or 1) // ranks)
        head_bytes = int(heads * head * sum(key_and_value_bytes(kv_dtype)))
        sparse = any(run.layer.is_indexed for run in arch.layer_plan)
        return cls(kv_dtype, ranks, release.latent, sparse, head_bytes)

    def tokens(self, part: TokenPart) -> PageKind | None:
        """Return the page of whole heads of keys and values; None if their width is unknown."""
        if not part.key_width:
            return None
        heads = -(-part.heads // self.ranks)
        keys, values = key_and_value_bytes(self.kv_dtype)
        per_head = (part.key_width * keys + part.value_width * values) / part.heads
        return PageKind(1, ceil(per_head * heads), part.window)

    def latent(self, part: LatentPart) -> PageKind:
        """Return the page of one latent, which every rank holds whole."""
        latent, rope = part.latent_width, part.rope_width
        if self.latent_form == "expanded":
            return PageKind(1, self.head_bytes, part.window)
        # Sparse models keep it as fp8_ds_mla unless 16 bits are asked for: 8-bit values, an FP32
        # scale per 128 of them, a 16-bit rotary part (656 bytes at 512 + 64).
        if self.sparse and self.kv_dtype in EIGHT_BITS:
            packed = latent + -(-latent // _SCALE_GROUP) * 4 + rope * WIDE
            return PageKind(1, packed, part.window)
        width = part.key_width
        if self.latent_form == "padded":
            width = -(-width // _LATENT_STEP) * _LATENT_STEP
        return PageKind(1, int(width * key_and_value_bytes(self.kv_dtype)[0]), part.window)

    def index(self, part: IndexPart) -> PageKind:
        """Return the page of keys in 8 bits, and their scales."""
        return PageKind(1, part.width + -(-part.width // _SCALE_GROUP) * INDEX_SCALE)

    def entries(self, part: EntryPart) -> PageKind | None:
        """Return None: layers that compress have pages of their own (`CompressedCache`)."""
        return None

    def state(self, part: StatePart) -> PageKind | None:
        """Return a state's page in 16 bits, or FP32 if configured; None if its size is unknown."""
        if not part.size:
            return None
        recurrent = part.recurrent_size * (_STATE if part.wide else WIDE)
        return PageKind(1, 0, None, -(-(part.conv_size * WIDE + recurrent) // self.ranks))
