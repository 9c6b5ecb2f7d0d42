"""Elements of a recurrent state, from the sides that configurations and tensors give."""

# Each reader knows one kind of recurrence and returns the inputs that its convolutions keep and the
# state, or None if the configuration does not have its keys.

from __future__ import annotations

from collections.abc import Callable

from gpusizer.core.loose_values import JsonObject, object_in
from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.layer_source import LayerSource

State = tuple[int, int]  # Elements of (convolution inputs, state).

_MOST = 10**9  # elements of a state, as a bound on what configurations say
# Recurrent layers that are no linear attention: they do not keep the state of one.
_OTHER_KINDS = frozenset({"mamba", "conv", "recurrent", "jet"})


def state_of(source: LayerSource, *, beside: bool) -> State | None:
    """Return the elements kept of each sequence, alone or `beside` tokens; None if not stated."""
    cfg, stack, layer = source.cfg, source.stack, source.number
    # A layer with convolutions alone keeps their inputs; states of the configuration belong to
    # other layers.
    conv, state = stack.conv.get(layer), stack.state.get(layer)
    if conv is not None and layer not in stack.decaying and beside:
        return conv, 0
    if (named := _named(cfg, source.kind.name)) is not None:
        return named
    for reader in _READERS:
        found = reader(cfg)
        if found is not None:
            return min(found[0], _MOST), min(found[1], _MOST)
    if state is not None or (conv is not None and layer not in stack.decaying):
        return conv or 0, state or 0
    if beside or source.kind.name in _OTHER_KINDS or conv is not None:
        return None
    return _lightning(cfg)


def _delta_net(cfg: ConfigView) -> State | None:
    # Gated delta nets: (kernel - 1) x convolved channels, value heads x key dim x value dim, as
    # llama.cpp's recurrent memory allocates them (75.38 MiB for Qwen3-Next-80B in its log).
    value_heads = cfg.number("linear_num_value_heads")
    if value_heads is None:
        return None
    key_dim = cfg.number("linear_key_head_dim") or 0
    value_dim = cfg.number("linear_value_head_dim") or 0
    channels = 2 * (cfg.number("linear_num_key_heads") or 0) * key_dim + value_heads * value_dim
    kernel = cfg.number("linear_conv_kernel_dim") or 1
    return (kernel - 1) * channels, value_heads * key_dim * value_dim


def _delta_attention(cfg: ConfigView) -> State | None:
    # Kimi Delta Attention: a square matrix for each head, and convolutions of queries, keys and
    # values (vLLM `MambaStateShapeCalculator.kda_state_shape`; transformers 5.24 kimi_linear,
    # bailing_hybrid, whose heads are those of attention).
    own: JsonObject = cfg.mapping("linear_attn_config")
    heads = _integer(own, "num_heads") or cfg.number("linear_num_heads")
    width = _integer(own, "head_dim") or cfg.number("linear_head_dim")
    kernel = _integer(own, "short_conv_kernel_size") or cfg.number("linear_conv_kernel_dim")
    short = cfg.number("short_conv_kernel_size")
    if short is not None and not (heads and width):
        heads, width = cfg.integer("attention_heads"), cfg.integer("head_dim")
    if not heads or not width:
        return None
    return ((kernel or short or 1) - 1) * 3 * heads * width, heads * width * width


def _mamba(cfg: ConfigView) -> State | None:
    # Mamba 2: (kernel - 1) x (inner + 2 x groups x state), inner x state, as llama.cpp's recurrent
    # memory allocates them
    state = cfg.number("mamba_d_state", "ssm_state_size", "state_size")
    hidden = cfg.integer("hidden_size")
    if state is None or hidden is None:
        return None
    heads = cfg.number("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    head_dim = cfg.number("mamba_d_head", "mamba_head_dim", "mamba_headdim", "hidden_size_per_head")
    expand = cfg.number("mamba_expand", "expand") or 2
    inner = heads * head_dim if heads and head_dim else expand * hidden
    inner = cfg.number("mamba_d_ssm") or inner
    groups = cfg.number("mamba_n_groups", "n_groups", "mamba_ngroups") or 1
    kernel = cfg.number("mamba_d_conv", "conv_kernel") or 4
    return (kernel - 1) * (inner + 2 * groups * state), inner * state


def _linear_unit(cfg: ConfigView) -> State | None:
    # RG-LRU: one vector, and a convolution of it (transformers recurrent_gemma)
    width = cfg.number("lru_width")
    if width is None:
        return None
    return ((cfg.number("conv1d_width") or 4) - 1) * width, width


def _time_mix(cfg: ConfigView) -> State | None:
    # RWKV-5 to 7 by the width of a head: a square matrix for each head, and the two inputs before
    # (llama.cpp `hparams.n_embd_s`, `n_embd_r`)
    width, hidden = cfg.number("wkv_head_size", "head_size"), cfg.integer("hidden_size")
    return None if width is None or hidden is None else (2 * hidden, hidden * width)


def _matrix_memory(cfg: ConfigView) -> State | None:
    # mLSTM: keys x values of each head, a sum of keys and a scale (transformers xlstm, whose sides
    # are shares of the hidden size)
    hidden, heads = cfg.integer("hidden_size"), cfg.integer("attention_heads")
    shares = [cfg.text.get(key) for key in ("qk_dim_factor", "v_dim_factor")]
    sides = [share for share in shares if isinstance(share, float | int) and 0 < share <= 16]
    if hidden is None or heads is None or len(sides) < len(shares):
        return None
    keys, values = (int(hidden * side) for side in sides)
    return 0, keys * values // heads + keys + heads


def _short_convolution(cfg: ConfigView) -> State | None:
    # LFM2: the inputs of a convolution as wide as the model
    kernel, hidden = cfg.number("conv_L_cache"), cfg.integer("hidden_size")
    return None if kernel is None or hidden is None else ((kernel - 1) * hidden, 0)


def _lightning(cfg: ConfigView) -> State | None:
    # Linear attention with the heads of attention and no convolution: a square matrix for each
    # (MiniMax-Text-01, Ring-linear; vLLM `MambaStateShapeCalculator.linear_attention_state_shape`)
    heads, width = cfg.integer("attention_heads"), cfg.integer("head_dim")
    if heads is None:
        return None
    width = width or (cfg.integer("hidden_size") or 0) // heads
    return 0, heads * width * width


def _named(cfg: ConfigView, name: str) -> State | None:
    # sides by name of the kind, in the words of flash-linear-attention (Jet-Nemotron's
    # `efficient_attention_config`)
    own = object_in(cfg.mapping("efficient_attention_config").get(name)) if name else {}
    heads, width = _integer(own, "num_heads"), _integer(own, "head_dim")
    expand = own.get("expand_v", 1)
    if not heads or not width or not isinstance(expand, int | float) or not 0 < expand <= 16:
        return None
    values = int(width * expand)
    return ((_integer(own, "conv_size") or 1) - 1) * heads * values, heads * width * values


def _integer(config: JsonObject, key: str) -> int | None:
    value = config.get(key)
    return value if type(value) is int and 0 < value <= _MOST else None


_READERS: tuple[Callable[[ConfigView], State | None], ...] = (
    _delta_net,
    _delta_attention,
    _mamba,
    _linear_unit,
    _time_mix,
    _matrix_memory,
    _short_convolution,
)
