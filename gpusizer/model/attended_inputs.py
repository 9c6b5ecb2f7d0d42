"""Memory of pictures and sound that a model reads by cross-attention, beside its text's cache."""

from __future__ import annotations

from gpusizer.core.loose_values import list_in, object_in, whole_in
from gpusizer.hub.snapshot import Config

_BYTES = 2  # of an element in 16 bits
_MOST_SIDE, _MOST_TILES, _MOST_WIDTH = 8192, 64, 1 << 20
_MOST_POSITIONS, _MOST_LAYERS = 1 << 16, 1024


def attended_picture_bytes(config: Config | None) -> int | None:
    """Return the bytes of one picture's keys and values of 16 bits, or None for other models.

    They are those of all tiles that a picture may have, whatever its size.
    """
    stated = object_in(config)
    if stated.get("model_type") != "mllama":
        return None
    text, vision = object_in(stated.get("text_config")), object_in(stated.get("vision_config"))
    heads = whole_in(text.get("num_attention_heads"), _MOST_WIDTH)
    kept = whole_in(text.get("num_key_value_heads"), _MOST_WIDTH)
    width = whole_in(text.get("hidden_size"), _MOST_WIDTH)
    layers = len(list_in(text.get("cross_attention_layers")))
    patch = whole_in(vision.get("patch_size"), _MOST_SIDE)
    image = whole_in(vision.get("image_size"), _MOST_SIDE)
    tiles = whole_in(vision.get("max_num_tiles", 4), _MOST_TILES)
    if not (heads and kept and layers and patch and tiles and image >= patch and width >= heads):
        return None
    # `pad_batches_and_tiles` of models/mllama/image_processing_mllama.py and `num_patches`, one for
    # the class of a tile, of modeling_mllama.py in transformers 5.24.0
    positions = tiles * ((image // patch) ** 2 + 1)
    return positions * layers * 2 * kept * (width // heads) * _BYTES


def attended_sound_bytes(config: Config | None) -> int | None:
    """Return the bytes of one recording's keys and values of 16 bits, or None for other models."""
    stated = object_in(config)
    if stated.get("model_type") != "whisper":
        return None
    width = whole_in(stated.get("d_model"), _MOST_WIDTH)
    layers = whole_in(stated.get("decoder_layers"), _MOST_LAYERS)
    # Every recording is padded to as many positions of the encoder, 1,500 for 30 seconds
    # (`CrossAttentionSpec`, vllm/v1/kv_cache_interface.py; models/whisper/modeling_whisper.py).
    positions = whole_in(stated.get("max_source_positions"), _MOST_POSITIONS)
    return 2 * positions * width * layers * _BYTES or None
