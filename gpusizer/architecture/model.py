"""Architecture: the shape of a model, as far as memory and speed depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from gpusizer.architecture.rotary import Rotary


class Attention(StrEnum):
    """How a layer remembers earlier tokens."""

    FULL = "full"
    SLIDING = "sliding"  # last `window` tokens
    CHUNKED = "chunked"  # tokens of the current chunk of `window`
    MLA = "mla"  # one latent vector per token instead of per-head keys and values
    CROSS = "cross"  # attends to an encoder's output: does not grow with generated tokens
    RECURRENT = "recurrent"  # Mamba, linear attention, short convolution: a fixed state
    NONE = "none"  # no attention at all, or cache shared with an earlier layer


GROWING = frozenset({Attention.FULL, Attention.SLIDING, Attention.CHUNKED, Attention.MLA})
"""Kinds whose cache grows with context, at least up to the window."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A run of equal layers.

    Attributes:
        attention: how these layers remember.
        count: how many layers.
        key_width: cached key elements per token and layer (MLA: the whole latent).
        value_width: cached value elements per token and layer (MLA: 0).
        kv_heads: heads the cache can be split over; 1 for MLA, whose latent is replicated.
        window: tokens kept by sliding and chunked layers, else None.
        state_elements: fixed elements per sequence and layer (recurrent layers).
        conv_elements: of these, the inputs that the short convolution remembers.
        wide_state: the configuration asks for an FP32 state beside 16-bit convolution inputs.
        rope_width: rotary part of an MLA latent.
        head_keys, head_values: elements of all heads that an MLA latent expands to.
        indexer_width: elements cached besides, by which sparse attention picks its tokens.
    """

    attention: Attention
    count: int
    key_width: int = 0
    value_width: int = 0
    kv_heads: int = 1
    window: int | None = None
    state_elements: int = 0
    conv_elements: int = 0
    wide_state: bool = False
    rope_width: int = 0
    head_keys: int = 0
    head_values: int = 0
    indexer_width: int = 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """The text side of a model. None means the configuration and the tensors do not say.

    Attributes:
        attention_heads, kv_heads, head_dim: of ordinary attention layers.
        max_context: longest sequence the configuration allows, in tokens.
        experts, experts_per_token: routed experts per MoE layer, and how many each token uses.
        expert_width: inner width of one routed expert.
        tied_embeddings: input and output embedding are one matrix.
        generates: whether the model produces text token by token (needs a KV cache).
        layer_plan: layers in order, equal neighbours merged.
        rotary: kinds of rotary positions, whose tables engines keep.
        recovered: values read off tensor shapes because the configuration omits them.
        defaulted: values taken from the model class's defaults (`data/class_defaults.json`).
    """

    model_type: str
    layers: int
    hidden_size: int | None
    intermediate_size: int | None
    vocab_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    max_context: int | None
    experts: int | None
    experts_per_token: int | None
    tied_embeddings: bool
    generates: bool
    layer_plan: tuple[LayerSpec, ...]
    expert_width: int | None = None
    rotary: tuple[Rotary, ...] = ()
    recovered: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()

    @property
    def growing_elements_per_token(self) -> int:
        """Cache elements each new token adds over all layers, before any window is full."""
        return sum(
            spec.count * (spec.key_width + spec.value_width)
            for spec in self.layer_plan
            if spec.attention in GROWING
        )

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        data = asdict(self)
        data["layer_plan"] = [
            {key: value for key, value in asdict(spec).items() if value is not None}
            for spec in self.layer_plan
        ]
        data["rotary"] = list(data["rotary"])
        data["recovered"], data["defaulted"] = list(self.recovered), list(self.defaulted)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Architecture:
        """Inverse of `to_json`."""
        values = dict(data)
        values["layer_plan"] = tuple(
            LayerSpec(**{**spec, "attention": Attention(spec["attention"])})
            for spec in data["layer_plan"]
        )
        values["rotary"] = tuple(Rotary(**rotary) for rotary in data["rotary"])
        values["recovered"] = tuple(data["recovered"])
        values["defaulted"] = tuple(data["defaulted"])
        return cls(**values)


def merge_runs(specs: Iterable[LayerSpec]) -> tuple[LayerSpec, ...]:
    """Layers in order with equal neighbours merged into one spec."""
    merged: list[LayerSpec] = []
    for spec in specs:
        if merged and replace(merged[-1], count=spec.count) == spec:
            spec = replace(spec, count=merged.pop().count + spec.count)
        merged.append(spec)
    return tuple(merged)
