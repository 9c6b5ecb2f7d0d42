"""Biases that AutoGPTQ adds: rows of zeros for packed linears that have none."""

# AutoGPTQ's QuantLinear registers a bias even if the linear had none: always until version 0.5,
# later on request. Such a bias is storage. The configuration and the model's class say which
# linears have a real one.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusizer.hub.snapshot import Config
from gpusizer.model.architecture.config import ConfigView, view
from gpusizer.model.tensor_roles import Kind, Slot
from gpusizer.model.weights import WeightGroup

_METHOD = "gptq"
_BIAS, _PACKED = ".bias", ".qweight"
_QKV = frozenset({Slot.Q, Slot.K, Slot.V, Slot.QKV})
_ATTENTION = _QKV | {Slot.O}
_MLP = frozenset({Slot.GATE, Slot.UP, Slot.GATE_UP, Slot.DOWN})
_EVERY = frozenset(Slot)

# Keys of configurations, the linears they speak of, and the value with which these have a bias:
# attention_bias and mlp_bias of Llama and its kin, qkv_bias of Qwen2-MoE, use_qkv_bias of StableLM,
# add_qkv_bias and add_bias_linear of ChatGLM, use_bias of StarCoder 2, bias of Falcon and InternLM,
# no_bias of MPT and Qwen.
_KEYS: tuple[tuple[str, frozenset[Slot], bool], ...] = (
    ("attention_bias", _ATTENTION, True),
    ("qkv_bias", _QKV, True),
    ("use_qkv_bias", _QKV, True),
    ("add_qkv_bias", _QKV, True),
    ("mlp_bias", _MLP, True),
    ("use_bias", _EVERY, True),
    ("bias", _EVERY, True),
    ("add_bias_linear", _EVERY, True),
    ("no_bias", _EVERY, False),
)


def without_padding(
    groups: tuple[WeightGroup, ...], config: Config | None, method: str
) -> tuple[WeightGroup, ...]:
    """Return the groups with padding biases marked as storage."""
    if method != _METHOD or config is None:
        return groups
    facts = view(config)
    packed = _packed_linears(groups)
    return tuple(
        replace(group, kind=Kind.QUANT_AUX) if _is_padding(group, facts, packed) else group
        for group in groups
    )


def _packed_linears(groups: Iterable[WeightGroup]) -> frozenset[tuple[str, str]]:
    # (component, name) of every linear that has a `.qweight`
    return frozenset(
        (group.component, group.pattern.removesuffix(_PACKED))
        for group in groups
        if group.pattern.endswith(_PACKED)
    )


def _is_padding(group: WeightGroup, facts: ConfigView, packed: frozenset[tuple[str, str]]) -> bool:
    # A bias beside its packed weight is padding only if the configuration or the class denies it;
    # if neither mentions the linear, the bias is a parameter.
    linear = group.pattern.removesuffix(_BIAS)
    if linear == group.pattern or (group.component, linear) not in packed:
        return False
    has_bias = {
        facts.flag(key) is value
        for key, slots, value in _KEYS
        if group.slot in slots and facts.flag(key) is not None
    }
    of_class = facts.defaults.get("linear_biases")
    if isinstance(of_class, list):
        has_bias.add(linear.rsplit(".", 1)[-1] in of_class)
    return has_bias == {False}
