"""Conventions of configurations for the kind of cache of each layer."""

# Each function reads one convention and returns a kind per layer, or None if the configuration does
# not use it. A new convention is a function and its position in `CONVENTIONS`.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from gpusizer.core.loose_values import JsonValue
from gpusizer.model.architecture.config import LAYER_KINDS, MODEL_TYPES, ConfigView
from gpusizer.model.architecture.layer_readers import (
    CACHELESS,
    CHUNKED,
    CROSS,
    FULL,
    OF_WORD,
    RECURRENT,
    SLIDING,
)
from gpusizer.model.architecture.layer_source import LayerKind

Kinds = list[LayerKind]
Convention = Callable[[ConfigView, int], "Kinds | None"]

_NAMES = {
    name: replace(OF_WORD[word], name=name) for word, names in LAYER_KINDS.items() for name in names
}
_LONGEST_NAME = 60


def _named_list(view: ConfigView, layers: int) -> Kinds | None:
    # `layer_types` (transformers >= 4.53) and `layers_block_type` (Zamba2). An unknown name is an
    # unknown layer; the others stay. A list of unknown names alone has another meaning.
    for key in ("layer_types", "layers_block_type"):
        names = view.sequence(key)
        if names is None or len(names) < layers:
            continue
        kinds = _by_pairs([_of_name(name) for name in names[: 2 * layers]], layers)
        if any(kind.known for kind in kinds):
            return kinds
    return None


def _by_pairs(kinds: Kinds, layers: int) -> Kinds:
    # one kind for each layer, of a list that names attention and feed-forward separately (Dory)
    feeds = kinds[1::2]
    if len(kinds) == 2 * layers and all(kind.read is CACHELESS.read for kind in feeds):
        return kinds[::2]
    return kinds[:layers]


def _of_name(name: JsonValue) -> LayerKind:
    if not isinstance(name, str):
        return replace(FULL, known=False)
    return _NAMES.get(name) or replace(FULL, name=name[:_LONGEST_NAME], known=False)


def _block_types(view: ConfigView, layers: int) -> Kinds | None:
    # `block_types` (RecurrentGemma): a pattern that repeats, whose attention has a window
    names = view.sequence("block_types")
    if names is None:
        return None
    attention = SLIDING if view.states("sliding_window") else FULL
    kinds = [attention if name == "attention" else _of_name(name) for name in names]
    return list(islice(cycle(kinds), layers))


def _pattern_string(view: ConfigView, layers: int) -> Kinds | None:
    # `hybrid_override_pattern` (Nemotron-H): M mamba, * attention, - MLP, E experts
    pattern = view.text_value("hybrid_override_pattern")
    if pattern is None or len(pattern) < layers:
        return None
    letters = {"M": RECURRENT, "*": FULL}
    return [letters.get(letter, CACHELESS) for letter in pattern[:layers]]


def _type_numbers(view: ConfigView, layers: int) -> Kinds | None:
    # `attn_type_list` (MiniMax-Text-01, M1): 1 full, 0 lightning attention
    numbers = view.sequence("attn_type_list")
    if numbers is None or len(numbers) < layers:
        return None
    return [FULL if n == 1 else RECURRENT for n in numbers[:layers]]


def _window_flags(view: ConfigView, layers: int) -> Kinds | None:
    # `hybrid_layer_pattern` (MiMo-V2-Flash), `sliding_window_layout` (SmallThinker): 1 slides
    for key in ("hybrid_layer_pattern", "sliding_window_layout"):
        flags = view.sequence(key)
        if flags is not None and len(flags) >= layers:
            return [SLIDING if flag == 1 else FULL for flag in flags[:layers]]
    return None


def _window_indices(view: ConfigView, layers: int) -> Kinds | None:
    # `sliding_window_layers` (Baichuan-M1): numbers of the layers with a window
    indices = view.sequence("sliding_window_layers")
    if indices is None:
        return None
    sliding = set(map(_hashable, indices))
    return [SLIDING if i in sliding else FULL for i in range(layers)]


def _shared_upper_half(view: ConfigView, layers: int) -> Kinds | None:
    # `mb_per_layer` (SambaY): every n-th layer is a Mamba one. In the upper half, two layers keep a
    # cache, and the others read it (microsoft/Phi-4-mini-flash-reasoning, modeling_phi4flash.py;
    # vllm/model_executor/models/phi4flash.py of 0.10).
    period = view.number("mb_per_layer")
    if period is None:
        return None
    windows = view.sequence("sliding_window") or []
    kinds = []
    for layer in range(layers):
        window = windows[layer] if layer < len(windows) else None
        own = SLIDING if isinstance(window, int) else FULL
        own = replace(own, window=window if isinstance(window, int) and window > 0 else None)
        kinds.append(RECURRENT if layer % period == 0 else own)
    kept = min(layers, layers // 2 + 2)
    return kinds[:kept] + [CACHELESS] * (layers - kept)


def _mamba_steps(view: ConfigView, layers: int) -> Kinds | None:
    # `mamba_step` (PLaMo-2): one layer in each step is a Mamba one, `full_attention_idx` have no
    # window (pfnet/plamo-2-8b modeling_plamo.py `is_mamba`; vllm/model_executor/models/plamo2.py)
    step = view.number("mamba_step")
    if step is None or view.flag("mamba_enabled") is False:
        return None
    full = set(map(_hashable, view.sequence("full_attention_idx") or []))
    slides = view.states("sliding_window")
    few = layers <= step // 2
    return [
        RECURRENT
        if (i != layers - 1 if few else i % step != step // 2)
        else SLIDING
        if slides and i not in full
        else FULL
        for i in range(layers)
    ]


def _groups(view: ConfigView, layers: int) -> Kinds | None:
    # `layer_group_size` (Ring-linear, Ling 2.5): the last layer of each group attends, and every
    # layer of an incomplete last group (vllm/model_executor/models/bailing_moe_linear.py)
    size = view.number("layer_group_size")
    if size is None:
        return None
    whole = layers // size * size
    return _only({i for i in range(layers) if (i + 1) % size == 0 or i >= whole}, layers)


def _attention_indices(view: ConfigView, layers: int) -> Kinds | None:
    # lists of the attention layers: Bamba, LFM2, and Kimi-Linear (counted from 1)
    indices = view.sequence("attn_layer_indices") or view.sequence("full_attn_idxs")
    if indices is None:
        from_one = view.mapping("linear_attn_config").get("full_attn_layers")
        if not isinstance(from_one, list):
            return None
        indices = [n - 1 for n in from_one if isinstance(n, int)]
    return _only(set(map(_hashable, indices)), layers)


def _every_nth(view: ConfigView, layers: int) -> Kinds | None:
    # `full_attention_interval` (Qwen3-Next) and Jamba's `attn_layer_period` / `_offset`
    interval = view.number("full_attention_interval")
    if interval is not None:
        return _only({i for i in range(layers) if (i + 1) % interval == 0}, layers)
    period = view.number("attn_layer_period")
    if period is None:
        return None
    offset = view.number("attn_layer_offset") or 0
    return _only({i for i in range(layers) if i % period == offset}, layers)


def _cross_layers(view: ConfigView, layers: int) -> Kinds | None:
    # `cross_attention_layers` (Llama 3.2 Vision)
    indices = view.sequence("cross_attention_layers")
    if indices is None:
        return None
    crossing = set(map(_hashable, indices))
    return [CROSS if i in crossing else FULL for i in range(layers)]


def _blocks(view: ConfigView, layers: int) -> Kinds | None:
    # `block_configs` (Nemotron NAS): attention is skipped or replaced in some blocks
    blocks = view.sequence("block_configs")
    if blocks is None or len(blocks) < layers:
        return None
    return [FULL if _has_attention(block) else CACHELESS for block in blocks[:layers]]


def _has_attention(block: JsonValue) -> bool:
    attention = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(attention, dict):
        return False
    return not (attention.get("no_op") or attention.get("replace_with_linear"))


def _pure_recurrent(view: ConfigView, layers: int) -> Kinds | None:
    # Mamba and RWKV models have no attention at all
    return [RECURRENT] * layers if view.model_type in MODEL_TYPES["recurrent"] else None


def _chunked(view: ConfigView, layers: int) -> Kinds | None:
    # Llama 4: layers with rotary positions attend within chunks, the others to everything
    if view.number("attention_chunk_size") is None:
        return None
    rope = view.sequence("no_rope_layers")
    if rope is not None and len(rope) >= layers:
        return [CHUNKED if flag else FULL for flag in rope[:layers]]
    interval = view.number("no_rope_layer_interval") or 4
    full = {i for i in range(layers) if (i + 1) % interval == 0}
    return [FULL if i in full else CHUNKED for i in range(layers)]


def _sliding(view: ConfigView, layers: int) -> Kinds | None:
    # a window on every layer, or on all but each n-th (`sliding_window_pattern`)
    if view.integer("sliding_window") is None or view.flag("use_sliding_window") is False:
        return None
    if view.text.get("sliding_window", 0) is None:
        return None  # present and null: no window, whatever the class defaults to
    pattern = view.number("sliding_window_pattern")
    full = {i for i in range(layers) if pattern and (i + 1) % pattern == 0}
    kinds = [FULL if i in full else SLIDING for i in range(layers)]
    # A window says nothing of layers that do not attend: there tensors vote.
    return kinds if pattern else [replace(kind, known=False) for kind in kinds]


# in the order of evaluation; the first that answers wins
CONVENTIONS: tuple[Convention, ...] = (
    _named_list,
    _block_types,
    _pattern_string,
    _type_numbers,
    _window_flags,
    _window_indices,
    _shared_upper_half,
    _mamba_steps,
    _groups,
    _attention_indices,
    _every_nth,
    _cross_layers,
    _blocks,
    _pure_recurrent,
    _chunked,
    _sliding,
)


def _only(full: set[JsonValue], layers: int) -> Kinds:
    return [FULL if i in full else RECURRENT for i in range(layers)]


def _hashable(value: JsonValue) -> int:
    return value if isinstance(value, int) else -1
