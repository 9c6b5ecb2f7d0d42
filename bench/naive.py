"""What a calculator without headers or engines says: the yardstick to beat.

Parameters times nominal bytes; 2 x layers x KV heads x head width x 2 bytes for the cache, on
every layer; and a fifth on top for everything else.
"""

from __future__ import annotations

from gpusizer.dtypes import DTYPE_BITS
from gpusizer.profile import ModelProfile
from gpusizer.quants import Quant

OVERHEAD = 0.20
_KEY_AND_VALUE = 2
_CACHE_BYTES = 2


def weights_bytes(profile: ModelProfile, quant: Quant, *, native: bool) -> float:
    """Parameters at the quantization's nominal width."""
    bits: float = quant.bits
    if native:
        stored = profile.quantization.bits if profile.quantization else None
        bits = stored or DTYPE_BITS[profile.native_dtype]
    return profile.parameters * bits / 8


def kv_bytes_per_token(profile: ModelProfile) -> float:
    """The usual formula, blind to windows, latents and recurrent layers."""
    arch = profile.architecture
    if arch is None:
        return 0.0
    heads = arch.kv_heads or arch.attention_heads or 0
    width = arch.head_dim or (arch.hidden_size or 0) // (arch.attention_heads or 1)
    return float(_KEY_AND_VALUE * arch.layers * heads * width * _CACHE_BYTES)
