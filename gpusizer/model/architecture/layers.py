"""Which kind of attention each layer has, from the many ways configurations say it.

Each reader looks for one convention and returns a kind per layer, or None when the
configuration does not use that convention. The first that answers wins.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.core.loose_values import JsonValue
from gpusizer.model.architecture.config import LAYER_KINDS, ConfigView
from gpusizer.model.architecture.model import Attention

Kinds = list[Attention]
Reader = Callable[[ConfigView, int], "Kinds | None"]

_NAMES = {name: Attention(kind) for kind, names in LAYER_KINDS.items() for name in names}


def attention_kinds(view: ConfigView, layers: int) -> Kinds:
    """One kind for each of `layers` layers."""
    for reader in _READERS:
        kinds = reader(view, layers)
        if kinds is not None:
            break
    else:
        kinds = [Attention.FULL] * layers
    return _without_shared(view, kinds)


def _named_list(view: ConfigView, layers: int) -> Kinds | None:
    """`layer_types` (transformers >= 4.53) and `layers_block_type` (Zamba2)."""
    for key in ("layer_types", "layers_block_type"):
        names = view.sequence(key)
        if names is None or len(names) < layers:
            continue
        kinds = [_NAMES.get(name) if isinstance(name, str) else None for name in names[:layers]]
        if None not in kinds:
            return [kind for kind in kinds if kind is not None]
    return None


def _pattern_string(view: ConfigView, layers: int) -> Kinds | None:
    """`hybrid_override_pattern` (Nemotron-H): M mamba, * attention, - MLP, E experts."""
    pattern = view.text_value("hybrid_override_pattern")
    if pattern is None or len(pattern) < layers:
        return None
    letters = {"M": Attention.RECURRENT, "*": Attention.FULL}
    return [letters.get(letter, Attention.NONE) for letter in pattern[:layers]]


def _type_numbers(view: ConfigView, layers: int) -> Kinds | None:
    """`attn_type_list` (MiniMax-Text-01, M1): 1 full, 0 lightning attention."""
    numbers = view.sequence("attn_type_list")
    if numbers is None or len(numbers) < layers:
        return None
    return [Attention.FULL if n == 1 else Attention.RECURRENT for n in numbers[:layers]]


def _attention_indices(view: ConfigView, layers: int) -> Kinds | None:
    """Lists of the attention layers: Bamba, LFM2, and Kimi-Linear (counted from 1)."""
    indices = view.sequence("attn_layer_indices") or view.sequence("full_attn_idxs")
    if indices is None:
        from_one = view.mapping("linear_attn_config").get("full_attn_layers")
        if not isinstance(from_one, list):
            return None
        indices = [n - 1 for n in from_one if isinstance(n, int)]
    return _only(set(map(_hashable, indices)), layers)


def _every_nth(view: ConfigView, layers: int) -> Kinds | None:
    """`full_attention_interval` (Qwen3-Next) and Jamba's `attn_layer_period` / `_offset`."""
    interval = view.number("full_attention_interval")
    if interval is not None:
        return _only({i for i in range(layers) if (i + 1) % interval == 0}, layers)
    period = view.number("attn_layer_period")
    if period is None:
        return None
    offset = view.number("attn_layer_offset") or 0
    return _only({i for i in range(layers) if i % period == offset}, layers)


def _cross_layers(view: ConfigView, layers: int) -> Kinds | None:
    """`cross_attention_layers` (Llama 3.2 Vision)."""
    indices = view.sequence("cross_attention_layers")
    if indices is None:
        return None
    crossing = set(map(_hashable, indices))
    return [Attention.CROSS if i in crossing else Attention.FULL for i in range(layers)]


def _blocks(view: ConfigView, layers: int) -> Kinds | None:
    """`block_configs` (Nemotron NAS): attention is skipped or replaced in some blocks."""
    blocks = view.sequence("block_configs")
    if blocks is None or len(blocks) < layers:
        return None
    return [
        Attention.FULL if _has_attention(block) else Attention.NONE for block in blocks[:layers]
    ]


def _has_attention(block: JsonValue) -> bool:
    attention = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(attention, dict):
        return False
    return not (attention.get("no_op") or attention.get("replace_with_linear"))


def _pure_recurrent(view: ConfigView, layers: int) -> Kinds | None:
    """Mamba and RWKV models have no attention at all."""
    if view.model_type in {"mamba", "mamba2", "falcon_mamba", "rwkv", "rwkv7"}:
        return [Attention.RECURRENT] * layers
    return None


def _chunked(view: ConfigView, layers: int) -> Kinds | None:
    """Llama 4: layers with rotary positions attend within chunks, the others to everything."""
    if view.number("attention_chunk_size") is None:
        return None
    rope = view.sequence("no_rope_layers")
    if rope is not None and len(rope) >= layers:
        return [Attention.CHUNKED if flag else Attention.FULL for flag in rope[:layers]]
    interval = view.number("no_rope_layer_interval") or 4
    full = {i for i in range(layers) if (i + 1) % interval == 0}
    return [Attention.FULL if i in full else Attention.CHUNKED for i in range(layers)]


def _sliding(view: ConfigView, layers: int) -> Kinds | None:
    """A window on every layer, or on all but each n-th (`sliding_window_pattern`)."""
    if view.integer("sliding_window") is None or view.flag("use_sliding_window") is False:
        return None
    if view.text.get("sliding_window", 0) is None:
        return None  # present and null: no window, whatever the class defaults to
    pattern = view.number("sliding_window_pattern")
    full = {i for i in range(layers) if pattern and (i + 1) % pattern == 0}
    return [Attention.FULL if i in full else Attention.SLIDING for i in range(layers)]


_READERS: tuple[Reader, ...] = (
    _named_list,
    _pattern_string,
    _type_numbers,
    _attention_indices,
    _every_nth,
    _cross_layers,
    _blocks,
    _pure_recurrent,
    _chunked,
    _sliding,
)


def _only(full: set[JsonValue], layers: int) -> Kinds:
    return [Attention.FULL if i in full else Attention.RECURRENT for i in range(layers)]


def _hashable(value: JsonValue) -> int:
    return value if isinstance(value, int) else -1


def _without_shared(view: ConfigView, kinds: Kinds) -> Kinds:
    """Gemma 3n and 4: the last layers reuse the cache of earlier ones."""
    shared = view.number("num_kv_shared_layers") or 0
    keep = max(0, len(kinds) - shared)
    return kinds[:keep] + [Attention.NONE] * (len(kinds) - keep)
