"""What every engine answers about its memory, beyond the weights themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal, NamedTuple, Protocol

from gpusizer.core.byte_ranges import Amount, Provenance, exactly
from gpusizer.core.messages import Note
from gpusizer.memory.engines.abilities import Abilities
from gpusizer.memory.kv_cache import NO_LIMIT, grows, kv_cache_bytes
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile

SplitBy = Literal["tensor", "layer", "none"]
BudgetRule = Literal["whole", "static", "free"]
"""What an engine's share of the card is a share of: all it uses ("whole"), of what is free after
set-up weights and cache alone ("static"), or what is free for the cache once the rest is in place
("free")."""
MemoryTotal = Literal["driver", "torch"]
"""Whose total an engine budgets with: the driver's, or that of `torch.cuda.mem_get_info()`."""


FreeKind = Literal["share_of_free", "checked_at_start", "others_subtracted"]
"""How an engine's share deals with memory that other programs hold (`memory/estimate.py`)."""


@dataclass(frozen=True, slots=True)
class FreeRule:
    """What an engine makes of memory that other programs hold.

    `start_bytes` are its own that are in use when it first reads what is free.
    """

    kind: FreeKind = "share_of_free"
    start_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StartLimit:
    """Sequences beyond which an engine refuses to start.

    Attributes:
        asked: those that it would schedule.
        most: those that are likely to start.
        sure: those that start for certain.
    """

    asked: int
    most: int
    sure: int


_AUTO = "auto"
SHARES_FREE_MEMORY = FreeRule()
"""The rule of engines that take what they need, or a share of what is free."""


class Split(NamedTuple):
    """How a model is spread over GPUs.

    Attributes:
        tensor, pipeline: ranks that share each matrix, and stages of whole layers.
        data: copies of everything but the routed experts, each with its own sequences.
        expert: ranks that routed experts are dealt out to whole, 1 where their matrices are
            divided like the others: all of `tensor` x `data`, or none.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data

    @property
    def ranks(self) -> int:
        """GPUs of one stage, which exchange what they computed."""
        return self.tensor * self.data

    def users_each(self, users: float) -> int:
        """Sequences on the fullest data-parallel rank: servers spread them evenly.

        vLLM goes by the ranks' queues (docs.vllm.ai, "Data Parallel Deployment"), SGLang takes
        them in turn (`load_balance_method`, srt/managers/data_parallel_controller.py).
        """
        return ceil(users / self.data)


ONE_GPU = Split()


@dataclass(frozen=True, slots=True)
class Placement:
    """A model and what it is asked to do, divided over GPUs of one class.

    Attributes:
        profile: of the model, compared but not hashed.
        workload: with the type that the cache has at a quantization (`Engine.cache_type`).
        device_class: one of the engine's `device_classes`.
    """

    profile: ModelProfile = field(hash=False)
    workload: Workload = field(default_factory=Workload)
    split: Split = ONE_GPU
    device_class: int = 0

    @property
    def arch(self) -> Architecture | None:
        return self.profile.architecture

    @property
    def users_each(self) -> int:
        """Sequences on the fullest data-parallel rank."""
        return self.split.users_each(self.workload.sequences)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What one GPU holds besides weights, cache and activations.

    Attributes:
        inside: counted against the engine's memory budget.
        outside: taken on top of it, such as the CUDA context under vLLM.
    """

    inside: Amount
    outside: Amount


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights once an engine has loaded them.

    Attributes:
        per_gpu, all_gpus: the fullest GPU, and all GPUs together.
        left_out: bytes of the files that are not loaded at all, in system memory neither.
    """

    per_gpu: Amount
    all_gpus: Amount
    left_out: int = 0


class Loader(Protocol):
    """Loads one model at any width, however it is divided."""

    def __call__(self, sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Engine(ABC):
    """One inference engine. Everything is per GPU and in bytes. Engines are compared by identity.

    Its own rules are for weights as stored, matrices divided evenly and whole layers for each
    pipeline stage; engines that do otherwise override them.

    Attributes:
        slug: API name.
        name: as its authors write it.
        version: the version its constants describe when none is asked for.
        split_by: what it divides among GPUs by default.
        stacks: software stacks it runs on, as the catalogue names them.
        abilities: what it can run, and which options it hears.
        kv_cell_multiple: tokens the cache of a sequence is rounded up to.
        device_classes: memory sizes, in bytes, from which its defaults change, and numbers
            below 2^30 added to them for kinds of cards that differ; the first is 0.
        budget_rule: what its share of the card has to hold.
        memory_total: whose total of the card's memory that is a share of.
    """

    slug: str
    name: str
    version: str
    split_by: SplitBy = "layer"
    stacks: frozenset[str]
    abilities: Abilities
    kv_cell_multiple: int = 1
    device_classes: tuple[int, ...] = (0,)
    budget_rule: BudgetRule = "whole"
    memory_total: MemoryTotal = "driver"

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        """Which of `device_classes` a card of this memory, name and software belongs to.

        `fabric`: cards of its kind can be joined by NVLink or the like.
        """
        return max(size for size in self.device_classes if size <= memory_bytes)

    def utilization(self, workload: Workload) -> float:
        """Share of the card's memory the engine budgets with; 1 when it takes what it needs."""
        return 1.0

    def free_rule(self, workload: Workload) -> FreeRule:
        """What it makes of memory that other programs hold."""
        return SHARES_FREE_MEMORY

    def notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        """Settings that the user has to pass to it, and what of the model it is not sized for."""
        return ()

    def caches_heard(self, workload: Workload) -> Collection[str]:
        """Tools whose word about the cache's type it takes (`StoredQuantization.fp8_cache`)."""
        return ()

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        """Element type of the KV cache at a quantization: the one asked for; for "auto" FP8 where
        the checkpoint as stored says so, else the type of activations.

        Weights in FP32 have an FP32 cache: PyTorch's engines keep it in the type that the model
        computes in.
        """
        if workload.kv_dtype != _AUTO:
            return workload.kv_dtype
        stored = profile.quantization
        if native and stored is not None and stored.fp8_cache in self.caches_heard(workload):
            return "fp8"
        return "f32" if quant == "fp32" else _AUTO

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        """How it loads this model: what it pads, copies, divides and leaves out."""
        layers = profile.architecture.layers if profile.architecture else 1

        def load(sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
            split = placement.split
            provenance = Provenance.EXACT if native else Provenance.DERIVED
            copies = sizes.total + sizes.replicated * (split.tensor - 1)
            fullest = exactly(even_share(sizes, split, layers), provenance)
            return Loaded(fullest, exactly(copies, provenance))

        return load

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        """Cache that one sequence of `context` tokens takes on the fullest GPU."""
        arch, split = placement.arch, placement.split
        if arch is None:
            return 0
        in_layers = kv_cache_bytes(
            arch,
            context,
            1,
            placement.workload.kv_dtype,
            shards=split.tensor,
            cell_multiple=self.kv_cell_multiple,
        )
        return stage_share(in_layers, arch.layers, split)

    def longest_context(
        self, placement: Placement, pool_bytes: int, draft: Placement | None = None
    ) -> int | None:
        """Longest sequence, up to the model's own limit, that a pool on each GPU holds, the cache
        of a draft model included. None when no cache grows with it.
        """
        arch = placement.arch
        if arch is None or (draft is None and not grows(arch)):
            return None

        def needed(context: int) -> int:
            of_draft = 0 if draft is None else self.sequence_bytes(draft, context)
            return self.sequence_bytes(placement, context) + of_draft

        limit = arch.max_context or NO_LIMIT
        if needed(limit) <= pool_bytes:
            return limit
        return max(0, bisect_right(range(limit + 1), pool_bytes, key=needed) - 1)

    def start_limit(self, placement: Placement, pool_bytes: int) -> StartLimit | None:
        """Sequences that it has to be held to in order to start for certain with a cache of
        `pool_bytes` on each GPU; None where it starts as it is asked to.
        """
        return None

    def step_tokens(self, placement: Placement) -> int | None:
        """Tokens of one step of a data-parallel rank that `activations` is of.

        None where no option of a scheduler sets them.
        """
        return None

    @abstractmethod
    def activations(self, placement: Placement) -> Amount:
        """Peak of temporary tensors on the fullest GPU."""

    def with_streaming(self, placement: Placement, sizes: WeightSizes, usual: Amount) -> Amount:
        """`usual` activations, and what is copied to the GPU of weights kept on the host."""
        return usual

    @abstractmethod
    def overhead(self, placement: Placement) -> Overhead:
        """Runtime, communicator and graph memory on each GPU."""


def stage_share(in_layers: int, layers: int, split: Split) -> int:
    """Part of an amount spread evenly over layers that the longest pipeline stage holds."""
    return -(-in_layers * -(-layers // split.pipeline) // layers)


def even_share(sizes: WeightSizes, split: Split, layers: int) -> int:
    """The fullest GPU: whole layers of a pipeline stage, a share of each matrix."""
    stage = stage_share(sizes.in_layers, layers, split) + sizes.total - sizes.in_layers
    if split.tensor == 1 or not sizes.total:
        return stage
    divided = stage * sizes.divided // sizes.total
    return stage - divided + -(-divided // split.tensor)


def cache_bytes(engine: Engine, placement: Placement) -> int:
    """Cache of all sequences on each GPU."""
    return engine.sequence_bytes(placement, placement.workload.context) * placement.users_each


def all_cache_bytes(engine: Engine, placement: Placement, fullest: int) -> int:
    """Cache of all sequences on all GPUs: each as the fullest one, that of a layer split once."""
    split = placement.split
    if split.gpus == 1 or split.ranks > 1:
        return fullest * split.gpus
    once = cache_bytes(engine, replace(placement, split=Split()))
    return min(fullest * split.gpus, once)
