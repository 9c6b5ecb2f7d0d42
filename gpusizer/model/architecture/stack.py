"""LayerStack: facts of the language model's layers by their tensors."""

# A repository may hold several stacks with the same layer numbers (a talker, a depth decoder, a
# codec). Only the stack that the configuration describes is read.

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from gpusizer.model.tensor_roles import Kind, Part, Slot, stack_of
from gpusizer.model.weights import WeightGroup

HeadWidths = Mapping[int, tuple[int, int]]

_OTHER_ATTENTION = re.compile("indexer|cross|encoder_attn|EncDec|controllers")
# Decays and gates of a state. Projections of the same module are the state's own, not attention's:
# Mamba and gated delta nets (`A_log`), RWKV (`time_*`, `r_k`), RG-LRU, mLSTM, lightning attention.
_DECAY = re.compile(
    r"\.(A_log|time_decay|time_first|time_faaaa|r_k|rg_lru\.recurrent_param|[if]gate_preact"
    r"|slope_rate|ssm_a)(\.|$)"
)
# Heads x width of a head of a state of one matrix for each head (RWKV-5 to 7).
_BONUS = re.compile(r"\.(r_k|time_faaaa)$")
# The inner vector of RWKV-4, which keeps three sums of it and two inputs.
_VECTOR = re.compile(r"\.time_first$")
# Modules that mix no tokens, although they call a matrix "key".
_FEED_FORWARD = re.compile(r"(^|\.)(mlp|ffn|feed_forward|channel_mix)$")
_LONGEST_KERNEL = 64
_MOST_ATTENTIONS = 8  # of one layer
_RWKV4_VECTORS = 5


@dataclass(frozen=True, slots=True)
class LayerStack:
    """Facts by layer number; a layer without an entry has none of the kind."""

    # rows of its k_proj and v_proj: exactly the cache of an attention layer
    widths: HeadWidths = field(default_factory=dict)
    # rows of the projection to a latent (MLA), rotary part included
    latents: Mapping[int, int] = field(default_factory=dict)
    indexed: frozenset[int] = frozenset()  # layers with a sparse-attention indexer of their own
    attentions: Mapping[int, int] = field(default_factory=dict)  # attention blocks of a layer
    # layers with the decay or the gates of a recurrent state
    decaying: frozenset[int] = frozenset()
    # elements of the inputs that its short convolutions keep
    conv: Mapping[int, int] = field(default_factory=dict)
    # elements of a state whose sides its tensors have
    state: Mapping[int, int] = field(default_factory=dict)

    def remembers(self, layer: int) -> bool:
        """Return whether a layer keeps a state or the inputs of a convolution."""
        return layer in self.decaying or layer in self.conv


def stack_in(groups: Iterable[WeightGroup], layers: int | None, hidden: int | None) -> LayerStack:
    """Return the stack of `layers` layers of width `hidden`, as its tensors show it."""
    own = language_stack(groups, layers, hidden)
    decays = [g for g in own if _DECAY.search(g.pattern)]
    attention = [g for g in _attention(own) if not _belongs_to_state(g, decays)]
    return LayerStack(
        widths=kv_widths(own),
        latents=_latents(own),
        indexed=frozenset(_layers(g for g in own if ".indexer." in g.pattern)),
        attentions=_attentions(attention),
        decaying=frozenset(_layers(decays)),
        conv=_conv_elements(own),
        state=_state_elements(own),
    )


def language_stack(
    groups: Iterable[WeightGroup], layers: int | None, hidden: int | None
) -> tuple[WeightGroup, ...]:
    """Return the tensors of the language model's layers."""
    stacks: dict[str, list[WeightGroup]] = {}
    for group in groups:
        if group.part is Part.TEXT and group.layers:
            stacks.setdefault(stack_of(group.pattern), []).append(group)
    # the text stack with the configured depth and width, and the largest of equals
    best = max(stacks.values(), key=lambda s: _likeness(s, layers, hidden), default=[])
    return tuple(best)


def stack_name(groups: Iterable[WeightGroup], layers: int | None, hidden: int | None) -> str:
    """Return the name prefix of the language model's layers."""
    own = language_stack(groups, layers, hidden)
    return stack_of(own[0].pattern) if own else ""


def _likeness(
    stack: Sequence[WeightGroup], layers: int | None, hidden: int | None
) -> tuple[bool, bool, int]:
    deep = layers is None or max(g.layers[-1] for g in stack if g.layers) + 1 >= layers
    wide = any(hidden in g.shape for g in stack if len(g.shape) > 1)
    return deep, wide, sum(g.parameters for g in stack)


def kv_widths(stack: Iterable[WeightGroup]) -> HeadWidths:
    """Return the rows of each layer's k_proj and v_proj."""
    keys: dict[int, int] = {}
    values: dict[int, int] = {}
    for group in _attention(stack):
        target = {Slot.K: keys, Slot.V: values}.get(group.slot)
        if target is not None and len(group.shape) == 2:
            target.update(dict.fromkeys(group.layers or (), group.shape[0]))
    # A layer with a k_proj alone uses its keys as values as well (Gemma 4's global layers).
    return {layer: (width, values.get(layer, width)) for layer, width in keys.items()}


def _attention(stack: Iterable[WeightGroup]) -> Iterator[WeightGroup]:
    # projections of a layer's own keys and values
    for group in stack:
        mixes = group.slot in (Slot.K, Slot.V, Slot.QKV, Slot.KV_A) and group.kind is Kind.LINEAR
        other = _OTHER_ATTENTION.search(group.pattern)
        if mixes and not other and not _FEED_FORWARD.search(_module(group.pattern)):
            yield group


def _module(pattern: str) -> str:
    # `h.{}.attn` of `h.{}.attn.k_proj.weight`
    return ".".join(pattern.split(".")[:-2])


def _belongs_to_state(group: WeightGroup, decays: Sequence[WeightGroup]) -> bool:
    # The module of a projection has a decay in one of its layers. A GGUF file has no modules: there
    # one layer's projections are attention's.
    module = _module(group.pattern)
    return not module.endswith("{}") and any(
        decay.pattern.startswith(module + ".")
        and not set(decay.layers or ()).isdisjoint(group.layers or ())
        for decay in decays
    )


def _layers(groups: Iterable[WeightGroup]) -> Iterator[int]:
    return (layer for group in groups for layer in group.layers or ())


def _latents(stack: Iterable[WeightGroup]) -> dict[int, int]:
    # rows of `kv_a_proj_with_mqa` of each layer
    latents: dict[int, int] = {}
    for group in _attention(stack):
        if group.slot is Slot.KV_A and len(group.shape) == 2:
            latents.update(dict.fromkeys(group.layers or (), group.shape[0]))
    return latents


def _attentions(attention: Iterable[WeightGroup]) -> dict[int, int]:
    # LongCat-Flash has two attention blocks in a layer (`self_attn.{}.kv_a_proj_with_mqa`)
    blocks: dict[int, int] = {}
    for group in attention:
        if group.layers and group.slot is not Slot.V:
            each, rest = divmod(group.count, len(group.layers))
            each = each if not rest and 0 < each <= _MOST_ATTENTIONS else 1
            blocks.update(dict.fromkeys(group.layers, each))
    return blocks


def _conv_elements(stack: Iterable[WeightGroup]) -> dict[int, int]:
    # (kernel - 1) inputs of every channel of each layer's short convolutions
    elements: dict[int, int] = {}
    for group in stack:
        if group.kind is Kind.CONV and "conv" in group.pattern and group.layers:
            kept = _remembered(group.shape) * group.count // len(group.layers)
            if kept:
                for layer in group.layers:
                    elements[layer] = elements.get(layer, 0) + kept
    return elements


def _remembered(shape: tuple[int, ...]) -> int:
    # elements kept by a convolution [channels, 1, kernel], [channels, kernel, 1] or [kernel,
    # channels]; 0 for a shape of another kind
    if len(shape) == 3:
        channels, kernel = shape[0], shape[1] if shape[2] == 1 else shape[2]
    elif len(shape) == 2:
        kernel, channels = sorted(shape)
    else:
        return 0
    return (kernel - 1) * channels if kernel <= _LONGEST_KERNEL else 0


def _state_elements(stack: Iterable[WeightGroup]) -> dict[int, int]:
    # states whose sides a tensor has: Mamba's decays [inner, state], RWKV's [heads, width]
    elements: dict[int, int] = {}
    for group in stack:
        size = 0
        if group.pattern.endswith(".A_log") and len(group.shape) > 1 and group.shape[-1] > 1:
            size = prod(group.shape)
        elif _BONUS.search(group.pattern) and len(group.shape) == 2:
            size = group.elements * group.shape[1]
        elif _VECTOR.search(group.pattern) and len(group.shape) == 1:
            size = _RWKV4_VECTORS * group.elements
        if size:
            elements.update(dict.fromkeys(group.layers or (), size))
    return elements
