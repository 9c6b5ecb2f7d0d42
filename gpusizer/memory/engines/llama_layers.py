"""Places of a model's layers and their cache under llama.cpp.

Restated from src/llama-model.cpp (load_tensors) and src/llama-kv-cache*.cpp: the layers and the
output fill the GPUs from the last backwards and are split in equal runs; the input embedding
stays on the host; windows keep room for one physical batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise

from gpusizer.core.byte_ranges import Provenance, exactly
from gpusizer.hub.tensors import Indices
from gpusizer.memory.engines.base import Loaded
from gpusizer.memory.engines.llama_versions import BuildRules, as_cached
from gpusizer.memory.kv_cache import STATE_BYTES, STEPS, layer_cache
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerRun, kinds_between
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.layer_kinds.parts import StatePart
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, is_expert
from gpusizer.model.weights import WeightGroup

DEFAULT_BATCH = 2048
DEFAULT_UBATCH = 512
CELLS = 256  # cells a cache is padded to; 32 before flash attention became the default
_ON_HOST_FIRST = (Part.TEXT, Part.MTP, Part.ENCODER)
_DRAFT_TYPE = "f16"
# Models whose `sliding_window` llama.cpp does not read: their cache is of full length.
_WINDOW_IGNORED = frozenset(
    {
        "mistral",
        "mixtral",
        "phi3",
        "phimoe",
        "qwen2",
        "qwen2_moe",
        "qwen3",
        "qwen3_moe",
        "starcoder2",
    }
)


def ubatch(workload: Workload) -> int:
    """Return tokens computed at once: the physical batch, capped by logical batch and context."""
    batch = workload.batch_size or DEFAULT_BATCH
    return min(workload.ubatch_size or DEFAULT_UBATCH, batch, workload.context)


@dataclass(frozen=True, slots=True)
class Stage:
    """Part of one GPU: layers `first` up to `end`, and perhaps the output."""

    first: int
    end: int
    output: bool


@lru_cache(maxsize=256)
def stages(layers: int, gpu_layers: int | None, gpus: int) -> tuple[Stage, ...]:
    """Return layers and output over equal GPUs: slot j of n goes to GPU floor(j x GPUs / n).

    `gpu_layers` counts the output as one layer and takes it first, as llama.cpp has since
    build 7500; None is all of them.
    """
    return shared_stages(layers, gpu_layers, (1,) * gpus)


def shared_stages(
    layers: int, gpu_layers: int | None, shares: tuple[int, ...]
) -> tuple[Stage, ...]:
    """Return layers and output over unequal GPUs.

    Slot j of n goes to the first GPU whose running share of the sum exceeds j / n. Shares are free
    memory by default, else the values of --tensor-split.
    """
    slots = layers + 1 if gpu_layers is None else min(gpu_layers, layers + 1)
    start, total_share = layers + 1 - slots, sum(shares)
    running = accumulate(shares, initial=0)
    bounds = [start + -(-share * slots // total_share) for share in running]
    return tuple(
        Stage(min(first, layers), min(end, layers), end > layers and end > first)
        for first, end in pairwise(bounds)
    )


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Weights by place."""

    layers: tuple[int, ...]  # cumulative bytes of layers; the last is the total
    experts: tuple[int, ...]  # the part of it that routed experts take, cumulative too
    output: int  # head or tied embedding, and other tensors after the layers
    embedding: int  # input tables, which stay on the host
    tower: int  # vision and audio encoders, on the first GPU
    left_out: int = 0  # encoders that are not loaded under `text_only`


def layer_bytes(
    profile: ModelProfile, sizes: WeightSizes, layers: int, *, text_only: bool = False
) -> LayerBytes:
    """Return the bytes of each group spread over the layers it occurs in.

    `text_only`: without the projector's file (`--mmproj` of llama.cpp's tools/mtmd).
    """
    per_layer, routed = _Spread(layers), _Spread(layers)
    evenly = output = embedding = tower = 0
    arch = profile.architecture
    pairs = tuple(zip(profile.groups, sizes.by_group, strict=True))
    both = any(amount and g.duplicate and g.kind is Kind.OUTPUT for g, amount in pairs)
    tied = arch is not None and arch.generates and arch.tied_embeddings and not both
    for group, amount in pairs:
        if group.part not in _ON_HOST_FIRST:
            tower += amount
        elif group.layers is not None and is_expert(group.pattern):
            per_layer.add(group.layers, amount)
            routed.add(group.layers, amount)
        elif group.layers is not None and len(group.layers) == layers:
            evenly += amount
        elif group.layers is not None:
            per_layer.add(group.layers, amount)
        elif group.kind is Kind.EMBEDDING and not (tied and _is_head(group, profile)):
            embedding += amount
        else:
            output += amount
    per_layer.add(tuple(range(layers)), evenly)
    loaded, left_out = (0, tower) if text_only else (tower, 0)
    return LayerBytes(per_layer.before(), routed.before(), output, embedding, loaded, left_out)


class _Spread:
    # Groups that occur in the same layers are spread together.
    def __init__(self, layers: int) -> None:
        self._by_layer = [0] * layers
        self._shares: dict[Indices, int] = {}

    def add(self, places: Indices, amount: int) -> None:
        """Spread `amount` over layers, its remainder over the first of them."""
        share, remainder = divmod(amount, len(places))
        self._shares[places] = self._shares.get(places, 0) + share
        for layer in places[:remainder]:
            self._add_to(layer, 1)

    def before(self) -> tuple[int, ...]:
        """Return cumulative layer sizes in bytes; the last item is the total."""
        for places, share in self._shares.items():
            for layer in places:
                self._add_to(layer, share)
        self._shares.clear()
        return tuple(accumulate(self._by_layer, initial=0))

    def _add_to(self, layer: int, amount: int) -> None:
        # Draft layers beyond the last are added to the last.
        self._by_layer[min(layer, len(self._by_layer) - 1)] += amount


def _is_head(group: WeightGroup, profile: ModelProfile) -> bool:
    # The output's rows are as wide as the hidden state.
    arch = profile.architecture
    return arch is None or arch.hidden_size is None or group.shape[-1] == arch.hidden_size


def place(
    parts: LayerBytes, workload: Workload, gpus: int, *, maps_file: bool, provenance: Provenance
) -> Loaded:
    """Return weights on the fullest GPU and on all GPUs. Metal maps the file with input tables."""
    on_gpu = []
    for number, stage in enumerate(stages(len(parts.layers) - 1, workload.gpu_layers, gpus)):
        amount = parts.layers[stage.end] - parts.layers[stage.first]
        if workload.cpu_moe:
            amount -= parts.experts[stage.end] - parts.experts[stage.first]
        amount += parts.output * stage.output + parts.tower * (number == 0)
        on_gpu.append(amount + parts.embedding * (maps_file and number == 0))
    fullest, together = exactly(max(on_gpu), provenance), exactly(sum(on_gpu), provenance)
    return Loaded(fullest, together, parts.left_out)


@lru_cache(maxsize=256)
def cached(
    architecture: Architecture, batch: int, rules: BuildRules, drafts: int = 0
) -> Architecture:
    """Return the architecture as a build caches it.

    Windows have room for a batch or are ignored; recurrent states are kept once more for each draft
    token, to return to (`n_rs_seq`, pull request 22400).
    """
    architecture = as_cached(architecture, rules)
    ignored = architecture.model_type in _WINDOW_IGNORED
    return architecture.with_layers(lambda layer: _with_room(layer, batch, drafts, ignored=ignored))


def _with_room(layer: Layer, batch: int, drafts: int, *, ignored: bool) -> Layer:
    def once_more(state: StatePart) -> StatePart:
        return replace(state, size=state.size * (1 + drafts))

    layer = layer.with_state(once_more) if drafts else layer
    return layer.without_window() if ignored else layer.with_room(batch)


def draft_cache(architecture: Architecture, workload: Workload, context: int) -> int:
    """Return the cache of one sequence in the draft layer, in 32nds of a byte."""
    # A context of its own, which caches as the last layer of full attention does (pull request
    # 22673), in 16 bits whatever the model's type (`--spec-draft-type-k`, -v; load_model of
    # tools/server/server-context.cpp).
    full = [run.layer for run in architecture.layer_plan if run.layer.lasts]
    if not workload.own_draft_tokens or not full:
        return 0
    return layer_cache(full[-1], _DRAFT_TYPE, context, CELLS)


def cache_per_layer(
    architecture: Architecture, workload: Workload, rules: BuildRules, context: int
) -> list[int]:
    """Return the cache of one sequence in each layer, in 32nds of a byte."""
    per_layer: list[int] = []
    as_built = cached(architecture, ubatch(workload), rules, workload.draft_tokens)
    for run in as_built.layer_plan:
        per_layer += [layer_cache(run.layer, workload.kv_dtype, context, CELLS)] * run.count
    per_layer[-1] += draft_cache(as_built, workload, context)
    return per_layer


def sequence_bytes(
    architecture: Architecture, workload: Workload, rules: BuildRules, gpus: int, context: int
) -> int:
    """Return cache bytes of one sequence on the GPU that holds most of it."""
    as_built = cached(architecture, ubatch(workload), rules, workload.draft_tokens)
    amounts = [
        sum(run.count * layer_cache(run.layer, workload.kv_dtype, context, CELLS) for run in stage)
        for stage in _kinds_of_stages(as_built, workload.gpu_layers, gpus)
    ]
    if workload.gpu_layers != 0:
        amounts[-1] += draft_cache(as_built, workload, context)
    return -(-max(amounts) // STEPS)


def state_bytes(architecture: Architecture, drafts: int) -> int:
    """Return bytes of recurrent states of one sequence in all layers, with those to return to."""
    states = ((run.count, run.layer.state) for run in architecture.layer_plan)
    return sum(count * state.size * STATE_BYTES * (1 + drafts) for count, state in states if state)


@lru_cache(maxsize=256)
def _kinds_of_stages(
    architecture: Architecture, gpu_layers: int | None, gpus: int
) -> list[list[LayerRun]]:
    plan = architecture.layer_plan
    parts = stages(sum(run.count for run in plan), gpu_layers, gpus)
    return kinds_between(plan, [parts[0].first, *(part.end for part in parts)])
