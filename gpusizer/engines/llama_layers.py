"""Where llama.cpp puts the layers of a model and their cache.

Restated from src/llama-model.cpp (load_tensors) and src/llama-kv-cache*.cpp: the layers and the
output fill the GPUs from the last backwards and are split in equal runs; the input embedding
stays on the host; windows keep room for one physical batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise

from gpusizer.amounts import Provenance, exactly
from gpusizer.architecture import Architecture, Attention
from gpusizer.engines.base import Loaded
from gpusizer.engines.llama_versions import CacheRules, as_cached
from gpusizer.kv_cache import STEPS, layer_cache
from gpusizer.profile import ModelProfile
from gpusizer.roles import Kind, Part, is_expert
from gpusizer.weight_sizes import WeightSizes
from gpusizer.weights import WeightGroup
from gpusizer.workload import Workload

DEFAULT_BATCH = 2048
DEFAULT_UBATCH = 512
CELLS = 256  # cells a cache is padded to; 32 before flash attention became the default
_ON_HOST_FIRST = (Part.TEXT, Part.MTP, Part.ENCODER)
# Models whose `sliding_window` llama.cpp does not read: their cache is of full length.
_WINDOW_IGNORED = frozenset(
    {"mistral", "mixtral", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
     "starcoder2"}
)  # fmt: skip


def ubatch(workload: Workload) -> int:
    """Tokens computed at once: the physical batch, no more than the logical one or the context."""
    batch = workload.batch_size or DEFAULT_BATCH
    return min(workload.ubatch_size or DEFAULT_UBATCH, batch, workload.context)


@dataclass(frozen=True, slots=True)
class Stage:
    """What one GPU holds: layers `first` up to `end`, and perhaps the output."""

    first: int
    end: int
    output: bool


@lru_cache(maxsize=256)
def stages(layers: int, gpu_layers: int | None, gpus: int) -> tuple[Stage, ...]:
    """Layers and output over equal GPUs: slot j of n goes to GPU floor(j x GPUs / n).

    `gpu_layers` counts the output as one layer and takes it first, as llama.cpp has since
    build 7500; None is all of them.
    """
    return shared_stages(layers, gpu_layers, (1,) * gpus)


def shared_stages(
    layers: int, gpu_layers: int | None, shares: tuple[int, ...]
) -> tuple[Stage, ...]:
    """The same over unequal GPUs: slot j of n goes to the first GPU whose running share of the
    sum exceeds j / n. Shares are free memory by default, else what --tensor-split says.
    """
    slots = layers + 1 if gpu_layers is None else min(gpu_layers, layers + 1)
    start, whole = layers + 1 - slots, sum(shares)
    running = accumulate(shares, initial=0)
    bounds = [start + -(-share * slots // whole) for share in running]
    return tuple(
        Stage(min(first, layers), min(end, layers), end > layers and end > first)
        for first, end in pairwise(bounds)
    )


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Weights by place.

    Attributes:
        layers: of the layers before each; the last is of all.
        experts: the part of it that routed experts take.
        output: head or tied embedding, and what else comes after the layers.
        embedding: input tables, which stay on the host.
        tower: vision and audio encoders, on the first GPU.
    """

    layers: tuple[int, ...]
    experts: tuple[int, ...]
    output: int
    embedding: int
    tower: int


def layer_bytes(profile: ModelProfile, sizes: WeightSizes, layers: int) -> LayerBytes:
    """Spread the bytes of each group over the layers it occurs in."""
    whole, routed = [0] * layers, [0] * layers
    evenly = output = embedding = tower = 0
    arch = profile.architecture
    tied = arch is not None and arch.generates and arch.tied_embeddings
    for group, amount in zip(profile.groups, sizes.by_group, strict=True):
        if group.part not in _ON_HOST_FIRST:
            tower += amount
        elif group.layers is not None and is_expert(group.pattern):
            _spread(group.layers, amount, whole)
            _spread(group.layers, amount, routed)
        elif group.layers is not None and len(group.layers) == layers:
            evenly += amount
        elif group.layers is not None:
            _spread(group.layers, amount, whole)
        elif group.kind is Kind.EMBEDDING and not (tied and _is_head(group, profile)):
            embedding += amount
        else:
            output += amount
    _spread(range(layers), evenly, whole)
    return LayerBytes(_before(whole), _before(routed), output, embedding, tower)


def _before(amounts: list[int]) -> tuple[int, ...]:
    return tuple(accumulate(amounts, initial=0))


def _spread(places: Sequence[int], amount: int, over: list[int]) -> None:
    """Draft layers beyond the last count with the last."""
    share, rest = divmod(amount, len(places))
    for number, layer in enumerate(places):
        over[min(layer, len(over) - 1)] += share + (number < rest)


def _is_head(group: WeightGroup, profile: ModelProfile) -> bool:
    """Whether a tied embedding is the one the output uses: rows as wide as the hidden state."""
    arch = profile.architecture
    return arch is None or arch.hidden_size is None or group.shape[-1] == arch.hidden_size


def place(
    parts: LayerBytes, workload: Workload, gpus: int, *, maps_file: bool, provenance: Provenance
) -> Loaded:
    """The fullest GPU and all of them. Metal maps the file, its input tables included."""
    on_gpu = []
    for number, stage in enumerate(stages(len(parts.layers) - 1, workload.gpu_layers, gpus)):
        amount = parts.layers[stage.end] - parts.layers[stage.first]
        if workload.cpu_moe:
            amount -= parts.experts[stage.end] - parts.experts[stage.first]
        amount += parts.output * stage.output + parts.tower * (number == 0)
        on_gpu.append(amount + parts.embedding * (maps_file and number == 0))
    return Loaded(exactly(max(on_gpu), provenance), exactly(sum(on_gpu), provenance))


@lru_cache(maxsize=256)
def cached(architecture: Architecture, batch: int, rules: CacheRules) -> Architecture:
    """The architecture as a build caches it: windows with room for a batch, or none at all."""
    architecture = as_cached(architecture, rules)
    ignored = architecture.model_type in _WINDOW_IGNORED
    plan = tuple(
        spec
        if spec.window is None
        else replace(spec, attention=Attention.FULL, window=None)
        if ignored
        else replace(spec, window=spec.window + batch)
        for spec in architecture.layer_plan
    )
    return replace(architecture, layer_plan=plan)


def cache_per_layer(
    architecture: Architecture, workload: Workload, rules: CacheRules, context: int
) -> list[int]:
    """Cache of one sequence in each layer, in 32nds of a byte."""
    per_layer: list[int] = []
    for spec in cached(architecture, ubatch(workload), rules).layer_plan:
        per_layer += [layer_cache(spec, workload.kv_dtype, context, CELLS)] * spec.count
    return per_layer


def sequence_bytes(
    architecture: Architecture, workload: Workload, rules: CacheRules, gpus: int, context: int
) -> int:
    """Cache of one sequence on the GPU that holds most of it."""
    per_layer = cache_per_layer(architecture, workload, rules, context)
    parts = stages(len(per_layer), workload.gpu_layers, gpus)
    return -(-max(sum(per_layer[part.first : part.end]) for part in parts) // STEPS)
