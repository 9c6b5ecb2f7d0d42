"""The role of a tensor, derived from its name and shape."""

# A role has two independent facts: the *part* of the model (text decoder, vision tower, …) and the
# *kind* of tensor (linear weight, embedding, norm, …). Quantizers, parameter counts and engines
# decide by these, never by a model's name. `tensor_roles.toml` has the names.

from __future__ import annotations

import re
from enum import StrEnum

from gpusizer.core.tables import toml_of


class Part(StrEnum):
    """The sub-model that a tensor belongs to."""

    TEXT = "text"
    VISION = "vision"
    AUDIO = "audio"
    PROJECTOR = "projector"
    MTP = "mtp"  # multi-token-prediction layers: drafts, not needed to generate
    ENCODER = "encoder"
    ADAPTER = "adapter"  # LoRA and the like: loaded beside the model, never quantized with it


class Kind(StrEnum):
    """The function of a tensor."""

    EMBEDDING = "embedding"
    OUTPUT = "output"  # lm_head
    LINEAR = "linear"
    EXPERT = "expert"  # linear of a routed expert, per expert (2-D) or fused (3-D)
    ROUTER = "router"
    NORM = "norm"
    BIAS = "bias"
    CONV = "conv"
    POSITION = "position"
    VECTOR = "vector"  # other small parameters: A_log, sinks, layer scales
    QUANT_AUX = "quant_aux"  # scales, zero points, group indices: storage, not parameters
    BUFFER = "buffer"  # masks, rotary tables, position ids: neither loaded nor parameters


class Slot(StrEnum):
    """The projection of a transformer block that a linear weight is, as named."""

    Q = "q"
    K = "k"
    V = "v"
    QKV = "qkv"
    KV_A = "kv_a"
    KV_B = "kv_b"
    O = "o"  # noqa: E741 - the field's own name for the output projection
    GATE = "gate"
    UP = "up"
    GATE_UP = "gate_up"
    DOWN = "down"
    OTHER = "other"


_TABLES = toml_of(__file__)
_PARTS = tuple(
    (Part(part), re.compile("".join(pieces))) for part, pieces in _TABLES["parts"].items()
)
_KINDS = {name: re.compile("".join(pieces)) for name, pieces in _TABLES["kinds"].items()}
_SLOT_OF = {name: Slot(slot) for slot, names in _TABLES["slots"].items() for name in names.split()}


def part_of(pattern: str) -> Part:
    """Return the sub-model that a tensor name belongs to; by default the text decoder."""
    for part, regex in _PARTS:
        if regex.search(pattern):
            return part
    return Part.TEXT


def kind_of(pattern: str, shape: tuple[int, ...]) -> Kind:
    """Return the kind of an unpacked tensor from its name pattern and logical shape."""
    if _KINDS["buffer"].search(pattern) or (
        _KINDS["attention_mask"].search(pattern) and len(shape) >= 3
    ):
        return Kind.BUFFER
    if _KINDS["norm"].search(pattern):
        return Kind.NORM
    if _KINDS["small_matrix"].search(pattern):
        return Kind.VECTOR
    if _KINDS["position"].search(pattern):
        return Kind.POSITION
    if is_expert(pattern) and len(shape) >= 2:
        return Kind.BIAS if pattern.endswith("bias") else Kind.EXPERT
    if _KINDS["conv"].search(pattern):
        return Kind.CONV
    if len(shape) == 2 or _KINDS["headwise"].search(pattern):
        return _matrix_kind(pattern)
    if len(shape) >= 3:
        return Kind.CONV
    return Kind.BIAS if pattern.endswith("bias") else Kind.VECTOR


def _matrix_kind(pattern: str) -> Kind:
    for kind in (Kind.OUTPUT, Kind.EMBEDDING, Kind.ROUTER):
        if _KINDS[kind].search(pattern):
            return kind
    return Kind.LINEAR


def is_expert(pattern: str) -> bool:
    """Return whether a tensor belongs to a routed expert; shared experts run for every token."""
    return bool(_KINDS["expert"].search(pattern)) and not is_shared_expert(pattern)


def is_shared_expert(pattern: str) -> bool:
    """Return whether a tensor belongs to an expert that runs for every token."""
    return _KINDS["shared_expert"].search(pattern) is not None


def is_recurrent_out(pattern: str) -> bool:
    """Return whether a matrix is a recurrent block's output: ssm_out, shortconv.out_proj."""
    return _KINDS["recurrent_out"].search(pattern) is not None


def is_layer_table(pattern: str) -> bool:
    """Return whether an embedding has one row for each token and layer (Gemma 3n, 4)."""
    return _KINDS["layer_table"].search(pattern) is not None


def is_delta_gate(pattern: str) -> bool:
    """Return whether a matrix is the write gate of a gated delta rule."""
    return _KINDS["delta_gate"].search(pattern) is not None


def is_sink(pattern: str) -> bool:
    """Return whether a vector has the logits of attention sinks, one for each head (gpt-oss)."""
    return _KINDS["sink"].search(pattern) is not None


def slot_of(pattern: str) -> Slot:
    """Return the projection that a weight name is, or `Slot.OTHER` without a fixed role."""
    if is_recurrent_out(pattern):
        return Slot.OTHER
    for component in reversed(pattern.split(".")[-3:]):
        slot = _SLOT_OF.get(component)
        if slot is not None:
            return slot
    return Slot.OTHER


def layer_axis(pattern: str) -> int | None:
    """Return the index of the placeholder that counts layers, or None outside any layer."""
    match = _KINDS["layer_axis"].search(pattern)
    if match is None:
        return None
    return pattern[: match.end()].count("{}") - 1


def stack_of(pattern: str) -> str:
    """Return the name up to its layer number, which identifies a stack; "" outside any layer."""
    match = _KINDS["layer_axis"].search(pattern)
    return "" if match is None else pattern[: match.end()]
