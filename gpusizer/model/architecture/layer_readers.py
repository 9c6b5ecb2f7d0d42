"""Readers of layers: each builds the layers of one kind from configuration and tensors."""

# `conventions.py` selects the kind of each layer, by name (`OF_WORD`) or by other keys.

from __future__ import annotations

from dataclasses import replace

from gpusizer.model.architecture.layer_kinds import (
    AttentionWithState,
    CachelessLayer,
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    IndexedAttention,
    LatentAttention,
    Layer,
    RecurrentLayer,
    SlidingAttention,
)
from gpusizer.model.architecture.layer_source import Heads, LayerKind, LayerSource
from gpusizer.model.architecture.states import state_of

_MOST_COMPRESSED = 2**16  # tokens of one entry, as a bound on what configurations say


def full(source: LayerSource) -> Layer:
    """Build a layer that attends to every token."""
    if source.has_latent:
        return _latent(source, None)
    heads = source.heads()
    _pass_over(source)
    return _indexed(FullAttention(*_widths(source, heads), heads.count or 1), source)


def sliding(source: LayerSource) -> Layer:
    """Build a layer that attends within a window."""
    if source.has_latent:
        return _latent(source, source.window())
    heads, window = source.sliding_heads(), source.window()
    keys, values = _widths(source, heads)
    cfg = source.cfg
    if any(source.compression()):
        return CompressedAttention(
            SlidingAttention(keys, 0, heads.count or 1, window),
            rope_width=cfg.number("qk_rope_head_dim") or 0,
            compress_ratio=_compress_ratio(source),
            indexer_width=source.indexer_width(),
        )
    return _indexed(SlidingAttention(keys, values, heads.count or 1, window), source)


def chunked(source: LayerSource) -> Layer:
    """Build a layer that attends within chunks."""
    if source.has_latent:
        return _latent(source, None)
    heads = source.heads()
    common = source.common_window()
    _pass_over(source)
    chunk = source.cfg.number("attention_chunk_size") or common
    return _indexed(ChunkedAttention(*_widths(source, heads), heads.count or 1, chunk), source)


def recurrent(source: LayerSource) -> RecurrentLayer:
    """Build a layer with a recurrent state, of 0 elements if its size is unknown."""
    return _state(source, beside=False)


def crossing(source: LayerSource) -> Layer:
    """Build a layer that attends to an encoder's output."""
    return CrossAttention()


def cacheless(source: LayerSource) -> Layer:
    """Build a layer without a cache of its own."""
    return CachelessLayer()


FULL, SLIDING, CHUNKED = LayerKind(full), LayerKind(sliding), LayerKind(chunked)
RECURRENT = LayerKind(recurrent, attends=False)
CROSS = LayerKind(crossing, attends=False)
CACHELESS = LayerKind(cacheless, attends=False)

# kinds by the words of `config.toml`
OF_WORD = {
    "full": FULL,
    "sliding": SLIDING,
    "chunked": CHUNKED,
    "compressed": SLIDING,
    "recurrent": RECURRENT,
    "none": CACHELESS,
    "both": replace(FULL, state=True),
    "both_sliding": replace(SLIDING, state=True),
}


def with_state(layer: Layer, source: LayerSource) -> Layer:
    """Add the recurrent state to a layer that attends, if its size is known."""
    state = _state(source, beside=True)
    return layer if state.misses_size else AttentionWithState(layer, state)


def _state(source: LayerSource, *, beside: bool) -> RecurrentLayer:
    conv, state = state_of(source, beside=beside) or (0, 0)
    cfg = source.cfg
    dtype = cfg.text_value("mamba_ssm_dtype") or cfg.text_value("mamba_ssm_cache_dtype")
    return RecurrentLayer(conv + state, conv, wide_state=dtype == "float32")


def _widths(source: LayerSource, heads: Heads) -> tuple[int, int]:
    # elements of the keys and values of a token: as tensors show them, else by its heads
    return source.measured or heads.widths


def _indexed(layer: Layer, source: LayerSource) -> Layer:
    width = source.indexer_width()
    return IndexedAttention(layer, width) if width else layer


def _latent(source: LayerSource, window: int | None) -> Layer:
    # One latent for all heads: compressed keys and values, and a rotary part (DeepSeek-V2). Some
    # layers have latents of other widths (dots3), or no rotary part (Mistral Large 4).
    cfg = source.cfg
    heads, rope = cfg.integer("attention_heads") or 0, cfg.number("qk_rope_head_dim") or 0
    rank = cfg.number("kv_lora_rank") or 0
    width = source.stack.latents.get(source.number, rank + rope)
    latent = LatentAttention(
        width,
        rope_width=rope if width != rank else 0,
        head_keys=heads * ((cfg.number("qk_nope_head_dim") or 0) + rope),
        head_values=heads * (cfg.number("v_head_dim") or 0),
        window=window,
    )
    return _indexed(latent, source)


def _pass_over(source: LayerSource) -> None:
    # marks keys that only layers with a window need as read
    source.common_window()
    source.compression()


def _compress_ratio(source: LayerSource) -> int:
    # Tokens that share an entry, 0 for none. One vector serves as key and value, and every few
    # tokens share one more: DeepSeek-V4, whose repository gives `compress_ratios` layer by layer
    # (`Compressor` of its modeling code) and transformers `compress_rates` by kind (deepseek_v4).
    ratios, rates = source.compression()
    ratio = rates.get(source.kind.name)
    if ratios is not None:
        ratio = ratios[source.number] if source.number < len(ratios) else 0
    return ratio if isinstance(ratio, int) and 0 < ratio <= _MOST_COMPRESSED else 0
