"""Resolve an Architecture from config.json and tensor shapes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from gpusizer.hub.snapshot import Config
from gpusizer.model.architecture import tensors
from gpusizer.model.architecture.config import ConfigView, view
from gpusizer.model.architecture.layers import attention_kinds
from gpusizer.model.architecture.model import Architecture, Attention, LayerSpec, merge_runs
from gpusizer.model.architecture.purpose import ModelRole, purpose_of
from gpusizer.model.architecture.rotary import rotary_of
from gpusizer.model.architecture.unknown_parts import doubts_of
from gpusizer.model.weights import WeightGroup

MAX_LAYERS = 1_000
"""Layers of a language model; the deepest merges on the Hub have about 320."""

_MOST_COMPRESSED = 2**16  # tokens of one entry, as a bound on what configurations say


def resolve_architecture(
    config: Config | None, groups: Sequence[WeightGroup], tag: str | None = None
) -> Architecture | None:
    """The architecture, or None when neither configuration nor tensors show a layer stack.

    `tag` is the Hub's pipeline tag.

    The configuration is asked first; what it omits is read off tensor shapes, then taken
    from the model class's defaults. Facts found neither way stay None.
    """
    return None if config is None else resolve_view(view(config), groups, tag)


def resolve_view(
    config: ConfigView, groups: Sequence[WeightGroup], tag: str | None = None
) -> Architecture | None:
    """The architecture by a view of the configuration that was already chosen."""
    facts = _Facts(config, groups)
    claimed = facts.get("layers", tensors.layer_count(groups))
    layers = _at_most_stored(claimed, config, groups)
    if layers is None or layers > MAX_LAYERS:
        return None
    embedding = tensors.embedding_shape(groups)
    hidden = facts.get("hidden_size", embedding[1] if embedding else None)
    vocab = facts.get("vocab_size", embedding[0] if embedding else None)
    heads = facts.get("attention_heads", None)
    widths = tensors.kv_widths(groups)
    head_dim = _head_dim(facts, hidden, heads)
    kv_heads = _kv_heads(facts, heads, head_dim, widths)
    cfg = facts.config
    positions = facts.get("max_context", None)
    purpose = purpose_of(cfg, tag)
    indexed = tensors.indexed(groups)
    plan = _layer_plan(cfg, layers, head_dim, kv_heads, widths, indexed)
    architecture = Architecture(
        model_type=cfg.model_type,
        layers=layers,
        hidden_size=hidden,
        intermediate_size=facts.get("intermediate_size", tensors.feed_forward_width(groups)),
        vocab_size=vocab,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        max_context=positions,
        experts=facts.get("experts", tensors.expert_count(groups)),
        experts_per_token=facts.get("experts_per_token", None),
        tied_embeddings=bool(cfg.flag("tie_word_embeddings")),
        generates=purpose.generates,
        reads=purpose.reads,
        layer_plan=plan,
        expert_width=tensors.expert_width(groups, hidden),
        rotary=rotary_of(cfg, head_dim, positions),
        recovered=tuple(facts.recovered),
        defaulted=tuple(dict.fromkeys(cfg.defaulted)),
        claimed_layers=claimed if claimed != layers else None,
    )
    return replace(architecture, unknown_parts=_unknown_parts(architecture, purpose, cfg, groups))


def _unknown_parts(
    architecture: Architecture,
    purpose: ModelRole,
    config: ConfigView,
    groups: Sequence[WeightGroup],
) -> tuple[str, ...]:
    """What is not known of a model that writes; by now every reader has asked for its keys."""
    if not architecture.generates:
        return architecture.unknown_parts
    experts = (architecture.experts, architecture.experts_per_token)
    assumed = ("purpose",) if purpose.assumed else ()
    found = doubts_of(config, architecture.layer_plan, experts, groups)
    return tuple(dict.fromkeys((*architecture.unknown_parts, *assumed, *found)))


def architecture_of_config(config: Config | None, tag: str | None = None) -> Architecture | None:
    """The architecture by configuration alone; None where it does not state the number of layers.

    Of a gated repository the Hub's API repeats little more than the class, and the default sizes of
    a class belong to another model.
    """
    if config is None or not view(config).states("layers"):
        return None
    return resolve_architecture(config, (), tag)


def _at_most_stored(
    claimed: int | None, config: ConfigView, groups: Sequence[WeightGroup]
) -> int | None:
    """The layers a configuration claims, but no more than the tensors hold.

    ALBERT runs the layers of each group many times.
    """
    stored = tensors.stored_layers(groups)
    if claimed is None or stored is None or config.has("num_hidden_groups"):
        return claimed
    return min(claimed, stored)


@dataclass
class _Facts:
    config: ConfigView
    groups: Sequence[WeightGroup]
    recovered: list[str] = field(default_factory=list)

    def get(self, fact: str, from_tensors: int | None) -> int | None:
        """Configuration, then tensors, then class default."""
        defaults_before = len(self.config.defaulted)
        value = self.config.integer(fact)
        is_default = len(self.config.defaulted) > defaults_before
        if from_tensors is not None and (value is None or is_default):
            if is_default:
                self.config.defaulted.pop()
            self.recovered.append(fact)
            return from_tensors
        return value


def _head_dim(facts: _Facts, hidden: int | None, heads: int | None) -> int | None:
    nope = facts.config.number("qk_nope_head_dim")
    if nope is not None:  # MLA: what a query head compares, compressed part and rotary part
        return nope + (facts.config.number("qk_rope_head_dim") or 0)
    value = facts.get("head_dim", None)
    if value is None and hidden and heads:
        # The rule every configuration class without its own head_dim uses.
        return hidden // heads
    return value


def _kv_heads(
    facts: _Facts, heads: int | None, head_dim: int | None, widths: tensors.HeadWidths
) -> int | None:
    cfg = facts.config
    if cfg.flag("multi_query") and not cfg.flag("new_decoder_architecture"):
        return 1  # Falcon-7B, GPTBigCode: one key/value head, whatever num_kv_heads says
    measured = None
    if widths and head_dim:
        measured = max(1, max(width for width, _ in widths.values()) // head_dim)
    value = facts.get("kv_heads", measured)
    return value if value is not None else heads


def _layer_plan(
    cfg: ConfigView,
    layers: int,
    head_dim: int | None,
    kv_heads: int | None,
    widths: tensors.HeadWidths,
    indexed: frozenset[int],
) -> tuple[LayerSpec, ...]:
    latent = _latent_width(cfg)
    window = cfg.integer("sliding_window") or cfg.number("attention_chunk_size")
    chunk = cfg.number("attention_chunk_size") or window
    per_layer_heads = _heads_per_block(cfg, layers)
    value_dim = cfg.number("v_head_dim") or head_dim
    specs = []
    recurrent = cache(partial(_recurrent, cfg))
    latent_spec = cache(partial(_latent, cfg))
    measured: tuple[int, int] | None = None
    for layer, kind in enumerate(attention_kinds(cfg, layers)):
        if kind in (Attention.NONE, Attention.CROSS):
            specs.append(LayerSpec(kind, 1))
        elif kind is Attention.RECURRENT:
            specs.append(recurrent())
        elif latent is not None:
            specs.append(latent_spec(latent, layer in indexed))
        else:
            heads = (per_layer_heads or {}).get(layer, kv_heads)
            # A layer without weights of its own runs the last block before it (Zamba2).
            measured = widths.get(layer, measured)
            key, value = measured or _config_widths(heads, head_dim, value_dim)
            size = {Attention.SLIDING: window, Attention.CHUNKED: chunk}.get(kind)
            spec = LayerSpec(kind, 1, key, value, heads or 1, size)
            specs.append(_compressed(cfg, spec, layer, layer in indexed))
    return merge_runs(specs)


def _compressed(cfg: ConfigView, spec: LayerSpec, layer: int, indexed: bool) -> LayerSpec:
    """The layer with the entries that it keeps beside its window, where it compresses any.

    One vector serves as key and value, and every `compress_ratios[layer]` tokens share one more
    (DeepSeek-V4; modeling code of its repository, `Compressor`).
    """
    ratios = cfg.sequence("compress_ratios")
    if ratios is None or spec.attention is not Attention.SLIDING:
        return spec
    ratio = ratios[layer] if layer < len(ratios) else 0
    return replace(
        spec,
        value_width=0,
        rope_width=cfg.number("qk_rope_head_dim") or 0,
        compress_ratio=ratio if isinstance(ratio, int) and 0 < ratio <= _MOST_COMPRESSED else 0,
        indexer_width=(cfg.number("index_head_dim") or 0) if indexed else 0,
    )


def _latent_width(cfg: ConfigView) -> int | None:
    """Elements of the MLA latent: compressed KV plus the shared rotary key (DeepSeek-V2 paper)."""
    rank = cfg.number("kv_lora_rank")
    return None if rank is None else rank + (cfg.number("qk_rope_head_dim") or 0)


def _config_widths(
    kv_heads: int | None, head_dim: int | None, value_dim: int | None
) -> tuple[int, int]:
    if not kv_heads or not head_dim:
        return 0, 0
    return kv_heads * head_dim, kv_heads * (value_dim or head_dim)


def _heads_per_block(cfg: ConfigView, layers: int) -> dict[int, int] | None:
    """Nemotron NAS gives query heads per KV head block by block."""
    blocks = cfg.sequence("block_configs")
    heads = cfg.integer("attention_heads")
    if blocks is None or heads is None:
        return None
    result: dict[int, int] = {}
    for layer, block in enumerate(blocks[:layers]):
        attention = block.get("attention") if isinstance(block, dict) else None
        group = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        if isinstance(group, int) and group > 0:
            result[layer] = max(1, heads // group)
    return result


def _latent(cfg: ConfigView, width: int, indexed: bool) -> LayerSpec:
    heads, rope = cfg.integer("attention_heads") or 0, cfg.number("qk_rope_head_dim") or 0
    return LayerSpec(
        Attention.MLA,
        1,
        key_width=width,
        rope_width=rope,
        head_keys=heads * ((cfg.number("qk_nope_head_dim") or 0) + rope),
        head_values=heads * (cfg.number("v_head_dim") or 0),
        indexer_width=(cfg.number("index_head_dim") or 0) if indexed else 0,
    )


def _recurrent(cfg: ConfigView) -> LayerSpec:
    """Elements a recurrent layer keeps per sequence, 0 when the configuration does not say.

    Gated delta nets: (kernel - 1) x convolved channels + value heads x key dim x value dim.
    Mamba 2: (kernel - 1) x (inner + 2 x groups x state) + inner x state. Both as allocated by
    llama.cpp's recurrent memory, checked on its logs (75.38 MiB for Qwen3-Next-80B).
    """
    conv, state = _delta_net(cfg) or _mamba(cfg) or (0, 0)
    state_dtype = cfg.text_value("mamba_ssm_dtype") or cfg.text_value("mamba_ssm_cache_dtype")
    return LayerSpec(
        Attention.RECURRENT,
        1,
        state_elements=conv + state,
        conv_elements=conv,
        wide_state=state_dtype == "float32",
    )


def _delta_net(cfg: ConfigView) -> tuple[int, int] | None:
    """(convolution, state) elements of a gated delta net."""
    value_heads = cfg.number("linear_num_value_heads")
    if value_heads is None:
        return None
    key_dim = cfg.number("linear_key_head_dim") or 0
    value_dim = cfg.number("linear_value_head_dim") or 0
    channels = 2 * (cfg.number("linear_num_key_heads") or 0) * key_dim + value_heads * value_dim
    kernel = cfg.number("linear_conv_kernel_dim") or 1
    return (kernel - 1) * channels, value_heads * key_dim * value_dim


def _mamba(cfg: ConfigView) -> tuple[int, int] | None:
    """(convolution, state) elements of a Mamba layer."""
    state = cfg.number("mamba_d_state", "ssm_state_size", "state_size")
    hidden = cfg.integer("hidden_size")
    if state is None or hidden is None:
        return None
    heads = cfg.number("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    head_dim = cfg.number("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    expand = cfg.number("mamba_expand", "expand") or 2
    inner = heads * head_dim if heads and head_dim else expand * hidden
    groups = cfg.number("mamba_n_groups", "n_groups", "mamba_ngroups") or 1
    kernel = cfg.number("mamba_d_conv", "conv_kernel") or 4
    return (kernel - 1) * (inner + 2 * groups * state), inner * state
