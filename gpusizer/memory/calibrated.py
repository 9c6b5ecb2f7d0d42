"""GPU and system memory to calibrate AWQ, GPTQ, INT8 and NVFP4 with llm-compressor.

`calibrated.toml` has the figures and their sources.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.loose_values import StoredObject
from gpusizer.core.tables import toml_of
from gpusizer.memory.quants.layouts import is_block_linear
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot
from gpusizer.model.weights import WeightGroup

Method = Literal["gguf", "awq", "gptq", "int8", "nvfp4"]
_BY_HESSIANS: frozenset[Method] = frozenset({"gptq", "int8"})

_TABLES = toml_of(__file__)
_ANY = _TABLES["any"]
_SMOOTHED = frozenset({Slot.GATE, Slot.UP, Slot.GATE_UP})
_WIDE, _F32 = 2, 4  # bytes of a value
CONTEXT = fitted(*_ANY["context_bytes"])  # CUDA's own memory, which PyTorch does not count


@dataclass(frozen=True, slots=True)
class Calibration:
    """Samples that a tool runs through the model, and the tokens of each."""

    samples: int
    sequence_length: int

    @property
    def tokens(self) -> int:
        """Tokens of all samples, if every one is full."""
        return self.samples * self.sequence_length

    @classmethod
    def usual(cls, method: Method) -> Calibration:
        """Return the samples of the tool's own example. Raise KeyError for a method without one."""
        return cls(_TABLES[method]["samples"], _TABLES[method]["sequence_length"])


@dataclass(frozen=True, slots=True)
class CalibratedMemory:
    """Memory of one GPU, with CUDA's own, and of the machine around it."""

    gpu: Amount
    ram: Amount


def calibrated_memory(
    profile: ModelProfile, method: Method, calibration: Calibration, file_bytes: int
) -> CalibratedMemory | None:
    """Return the memory to make a quantization of `file_bytes`; None if the layers are unknown."""
    arch = profile.architecture
    if arch is None or not arch.hidden_size:
        return None
    hidden, experts = arch.hidden_size, bool(arch.experts)
    layers = _layers(profile, hidden)
    if not layers:
        return None
    embedding = max(
        (_WIDE * g.parameters for g in text_groups(profile) if g.kind is Kind.EMBEDDING), default=0
    )
    # The model lies in system memory; its layers pass through one GPU, one after the other, with
    # what a few hundred samples make of them (pipelines/sequential/pipeline.py of
    # vllm-project/llm-compressor).
    if method in _BY_HESSIANS:
        on_gpu = [_gptq(layer, calibration, embedding) for layer in layers]
    elif method == "awq":
        on_gpu = [_awq(layer, calibration, hidden, embedding, experts=experts) for layer in layers]
    else:
        on_gpu = [_rounded(layer, calibration, embedding) for layer in layers]
    kept = hidden
    if method == "awq" and experts:
        kept += max(layer.inputs + layer.expert_inputs for layer in layers)
    # System memory holds the weights in 16 bits, the samples' states between two layers, the inputs
    # that AWQ keeps of experts, and the result while it is saved.
    cached = [share * _WIDE * calibration.tokens * kept for share in _ANY["filled"]]
    beside = zip(cached, (0, 0, file_bytes), _ANY["process_bytes"], strict=True)
    ram = fitted(*(_WIDE * profile.parameters + sum(parts) for parts in beside))
    return CalibratedMemory(largest(on_gpu) + CONTEXT, ram)


def text_groups(profile: ModelProfile) -> Iterable[WeightGroup]:
    """Yield tensors of the language model, without second copies and tensors that pack others."""
    return (g for g in profile.groups if g.part is Part.TEXT and g.parameters)


def largest(amounts: Iterable[Amount]) -> Amount:
    """Return a band whose ends are the highest of each kind."""
    every = list(amounts)
    return fitted(*(max(getattr(a, end) for a in every) for end in ("low", "likely", "high")))


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer of the decoder while it is calibrated."""

    weights: int = 0  # bytes in 16 bits
    hessians: int = 0  # bytes of an FP32 matrix of inputs x inputs for each matrix
    widest: int = 0  # inputs of the matrix with the most
    largest: int = 0  # parameters of the largest matrix
    smoothed: int = 0  # parameters that are scaled together: gates and up-projections
    inputs: int = 0  # values of a token that blocks, and the matrices that end them, read
    expert_inputs: int = 0  # values that down-projections of all routed experts read


@lru_cache(maxsize=32)
def _layers(profile: ModelProfile, hidden: int) -> frozenset[_Layer]:
    sums: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for group in text_groups(profile):
        share = _of_one_layer(group, hidden)
        for number in group.layers or ():
            of_layer = sums[number]
            for name, value in share.items():
                of_layer[name] = (
                    max(of_layer[name], value)
                    if name in ("widest", "largest")
                    else of_layer[name] + value
                )
    return frozenset(
        _Layer(**{**of_layer, "inputs": of_layer["inputs"] + 2 * hidden})
        for of_layer in sums.values()
    )


def _of_one_layer(group: WeightGroup, hidden: int) -> dict[str, int]:
    layers = len(group.layers or (0,))
    share = {"weights": _WIDE * group.parameters // layers}
    if not is_block_linear(group) or len(group.shape) < 2:
        return share
    matrices, inputs = _matrices(group, hidden)
    matrices = matrices * group.count // layers
    share |= {
        "hessians": matrices * inputs * inputs * _F32,
        "widest": inputs,
        "largest": group.parameters // layers // max(1, matrices),
    }
    if group.slot in _SMOOTHED:
        share["smoothed"] = group.parameters // layers
    if group.slot is Slot.DOWN and group.kind is Kind.EXPERT:
        share["expert_inputs"] = matrices * inputs
    elif group.slot in (Slot.O, Slot.DOWN):
        share["inputs"] = matrices * inputs
    return share


def _matrices(group: WeightGroup, hidden: int) -> tuple[int, int]:
    # llm-compressor takes experts of one parameter apart, and gate from up-projection, in either
    # order of sides (modeling/moe/linear_experts.py).
    if len(group.shape) == 2:
        return 1, group.shape[1]
    inner = group.shape[-1] if group.shape[-2] == hidden else group.shape[-2]
    parts = 2 if group.slot is Slot.GATE_UP else 1
    return math.prod(group.shape[:-2]) * parts, inner if group.slot is Slot.DOWN else hidden


def _gptq(layer: _Layer, calibration: Calibration, embedding: int) -> Amount:
    """Return GPU memory that PyTorch allocates for GPTQ: the layer and all its Hessians."""
    # Samples are gathered one at a time; the widest Hessian is inverted last.
    table: StoredObject = _TABLES["gptq"]
    widest = _F32 * layer.widest**2
    sample = _F32 * calibration.sequence_length * layer.widest
    parts = (table["hessian_copies"], table["matrix_bytes"], table["input_copies"])
    low, likely, high = (
        max(
            layer.hessians + widest + inputs * sample,
            copies * widest + matrix * layer.largest,
        )
        for copies, matrix, inputs in zip(*parts, strict=True)
    )
    # The highest has all Hessians beside the inverse, and the embedding, which releases before May
    # 2026 kept with the first layer.
    copies, matrix = table["hessian_copies"][-1], table["matrix_bytes"][-1]
    high = max(high, layer.hessians + copies * widest + matrix * layer.largest)
    most = (layer.weights + high + embedding) * _ANY["reserved"]
    return fitted(layer.weights + low, layer.weights + likely, most)


def _rounded(layer: _Layer, calibration: Calibration, embedding: int) -> Amount:
    """Return GPU memory that PyTorch allocates to round weights: layer, sample and one matrix."""
    # Weights are rounded as they are; samples give the range of the inputs.
    table: StoredObject = _TABLES["nvfp4"]
    sample = _F32 * calibration.sequence_length * layer.widest
    low, likely, high = (
        matrix * layer.largest + inputs * sample
        for matrix, inputs in zip(table["matrix_bytes"], table["input_copies"], strict=True)
    )
    most = (layer.weights + high + embedding) * _ANY["reserved"]
    return fitted(layer.weights + low, layer.weights + likely, most)


def _awq(
    layer: _Layer, calibration: Calibration, hidden: int, embedding: int, *, experts: bool
) -> Amount:
    """Return GPU memory that PyTorch allocates for AWQ."""
    # The layer, a copy of what is scaled together, and of all samples the blocks' inputs and their
    # outputs before and after quantizing. Inputs of experts are kept in system memory
    # (modifiers/transform/awq/base.py, `offload_device`).
    fixed = layer.weights + _WIDE * layer.smoothed
    values = 2 * hidden + (0 if experts else layer.inputs)
    low, likely, high = (
        share * _WIDE * calibration.tokens * values + search * layer.largest
        for share, search in zip(_ANY["filled"], _TABLES["awq"]["search_bytes"], strict=True)
    )
    most = (fixed + high + embedding) * _ANY["reserved"]
    return fitted(fixed + low, fixed + likely, most)
