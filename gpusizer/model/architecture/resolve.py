"""Resolution of an Architecture from config.json and tensor shapes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpusizer.hub.snapshot import Config
from gpusizer.model.architecture import tensors
from gpusizer.model.architecture.config import ConfigView, view
from gpusizer.model.architecture.layer_source import Heads
from gpusizer.model.architecture.model import Architecture
from gpusizer.model.architecture.passes import passes_of
from gpusizer.model.architecture.plan import Planner
from gpusizer.model.architecture.purpose import ModelRole, purpose_of
from gpusizer.model.architecture.rotary import rotary_of
from gpusizer.model.architecture.stack import HeadWidths, stack_in
from gpusizer.model.architecture.unknown_parts import PURPOSE, SILENT, doubts_of
from gpusizer.model.weights import WeightGroup, mark_experts

MAX_LAYERS = 1_000  # Most layers of a language model; the deepest merges on the Hub have about 320.


def resolve_architecture(
    config: Config | None, groups: Sequence[WeightGroup], tag: str | None = None
) -> Architecture | None:
    """Return the architecture, or None without any layers. `tag` is the Hub's pipeline tag."""
    # The configuration comes first; facts that it omits are read off tensor shapes, then taken from
    # the model class's defaults. Facts found neither way stay None.
    return None if config is None else resolve_view(view(config), groups, tag)


def resolve_view(
    config: ConfigView, groups: Sequence[WeightGroup], tag: str | None = None
) -> Architecture | None:
    """Return the architecture by a given view of the configuration."""
    facts = _Facts(config, groups)
    claimed = facts.get("layers", tensors.layer_count(groups))
    layers = _at_most_stored(claimed, config, groups)
    if layers is None or layers > MAX_LAYERS:
        return None
    embedding = tensors.embedding_shape(groups)
    hidden = facts.get("hidden_size", embedding[1] if embedding else None)
    vocab = facts.get("vocab_size", embedding[0] if embedding else None)
    heads = facts.get("attention_heads", None)
    stack = stack_in(groups, layers, hidden)
    head_dim = _head_dim(facts, hidden, heads)
    kv_heads = _kv_heads(facts, heads, head_dim, stack.widths)
    cfg = facts.config
    positions = facts.get("max_context", None)
    purpose = purpose_of(cfg, tag)
    experts = facts.get("experts", tensors.expert_count(groups))
    marked = mark_experts(groups, experts)
    planner = Planner(
        cfg, layers, claimed, Heads(kv_heads, head_dim, cfg.number("v_head_dim") or head_dim), stack
    )
    plan = planner.plan()
    looped = passes_of(cfg, layers, claimed).times > 1
    per_token = facts.get("experts_per_token", None)
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
        experts=experts,
        experts_per_token=per_token,
        tied_embeddings=cfg.is_tied(),
        generates=purpose.generates,
        reads=purpose.reads,
        layer_plan=plan,
        expert_width=tensors.expert_width(marked, hidden),
        rotary=rotary_of(cfg, head_dim, positions),
        recovered=(*facts.recovered, *(["layer_kinds"] if planner.by_tensors else [])),
        defaulted=tuple(dict.fromkeys(cfg.defaulted)),
        claimed_layers=claimed if claimed != layers and not looped else None,
        unknown_parts=tuple(planner.unknown),
    )
    return replace(architecture, unknown_parts=_unknown_parts(architecture, purpose, cfg, marked))


def _unknown_parts(
    architecture: Architecture,
    purpose: ModelRole,
    config: ConfigView,
    groups: Sequence[WeightGroup],
) -> tuple[str, ...]:
    # Runs last: by now every reader has looked up its keys. Layers of a model that writes nothing
    # keep nothing.
    if not architecture.generates:
        return (*architecture.unknown_parts, *((SILENT,) if purpose.assumed else ()))
    experts = (architecture.experts, architecture.experts_per_token)
    assumed = (PURPOSE,) if purpose.assumed else ()
    found = doubts_of(config, architecture.layer_plan, experts, groups)
    return tuple(dict.fromkeys((*architecture.unknown_parts, *assumed, *found)))


def architecture_of_config(config: Config | None, tag: str | None = None) -> Architecture | None:
    """Return the architecture by configuration alone, or None if it states no number of layers."""
    # The Hub's API repeats little more than the class of a gated repository, and the default sizes
    # of a class belong to another model.
    if config is None or not view(config).states("layers"):
        return None
    return resolve_architecture(config, (), tag)


def _at_most_stored(
    claimed: int | None, config: ConfigView, groups: Sequence[WeightGroup]
) -> int | None:
    # A configuration may claim more layers than the tensors hold. ALBERT runs the layers of each
    # group many times.
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
        # configuration, then tensors, then class default
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
    facts: _Facts, heads: int | None, head_dim: int | None, widths: HeadWidths
) -> int | None:
    cfg = facts.config
    if cfg.flag("multi_query") and not cfg.flag("new_decoder_architecture"):
        return 1  # Falcon-7B, GPTBigCode: one key/value head, whatever num_kv_heads says
    measured = None
    if widths and head_dim:
        measured = max(1, max(width for width, _ in widths.values()) // head_dim)
    value = facts.get("kv_heads", measured)
    return value if value is not None else heads
