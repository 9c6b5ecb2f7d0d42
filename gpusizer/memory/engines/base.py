"""The interface of engines: memory of a placement beyond the weights themselves."""

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
from gpusizer.memory.engines.known_models import READ_AT, known_models
from gpusizer.memory.kv_cache import NO_LIMIT, grows, kv_cache_bytes
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile

SplitBy = Literal["tensor", "layer", "none"]
# Share of the card: of all it uses ("whole"), of what is free after set-up for weights and cache
# alone ("static"), or of what is free for the cache once the rest is in place ("free").
BudgetRule = Literal["whole", "static", "free"]
# Total that an engine budgets with: the driver's, or that of `torch.cuda.mem_get_info()`.
MemoryTotal = Literal["driver", "torch"]


# How an engine's share treats memory that other programs hold (`memory/estimate.py`).
FreeKind = Literal["share_of_free", "checked_at_start", "others_subtracted"]


@dataclass(frozen=True, slots=True)
class FreeRule:
    """An engine's rule for memory that other programs hold.

    `start_bytes` are its own that are in use when it first reads what is free.
    """

    kind: FreeKind = "share_of_free"
    start_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StartLimit:
    """Limit of sequences beyond which an engine refuses to start."""

    asked: int  # sequences that it would schedule
    most: int  # sequences that are likely to start
    sure: int  # sequences that start for certain


_AUTO = "auto"
# Engines that take what they need, or a share of what is free.
SHARES_FREE_MEMORY = FreeRule()


class Split(NamedTuple):
    """Division of a model over GPUs."""

    # tensor, pipeline: ranks that share each matrix, and stages of whole layers.
    tensor: int = 1
    pipeline: int = 1
    data: int = 1  # copies of everything but the routed experts, each with its own sequences
    # Ranks that routed experts are dealt out to whole; 1 if their matrices are divided like others.
    # It is 1 or `tensor` x `data`.
    expert: int = 1

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data

    @property
    def ranks(self) -> int:
        """GPUs of one stage, which exchange what they computed."""
        return self.tensor * self.data

    def users_each(self, users: float) -> int:
        """Return the sequences on the fullest data-parallel rank: servers spread them evenly."""
        # vLLM goes by the ranks' queues (docs.vllm.ai, "Data Parallel Deployment"), SGLang takes
        # ranks in turn (`load_balance_method`, srt/managers/data_parallel_controller.py).
        return ceil(users / self.data)


ONE_GPU = Split()


@dataclass(frozen=True, slots=True)
class Placement:
    """A model with its workload, divided over GPUs of one class."""

    profile: ModelProfile = field(hash=False)  # compared but not hashed
    # With the type that the cache has at a quantization (`Engine.cache_type`).
    workload: Workload = field(default_factory=Workload)
    split: Split = ONE_GPU
    device_class: int = 0  # one of the engine's `device_classes`

    @property
    def arch(self) -> Architecture | None:
        return self.profile.architecture

    @property
    def users_each(self) -> int:
        """Sequences on the fullest data-parallel rank."""
        return self.split.users_each(self.workload.sequences)


@dataclass(frozen=True, slots=True)
class Overhead:
    """Bytes of one GPU beyond weights, cache and activations."""

    inside: Amount  # counted against the engine's memory budget
    outside: Amount  # taken on top of it, such as the CUDA context under vLLM


@dataclass(frozen=True, slots=True)
class Loaded:
    """Weights once an engine has loaded them."""

    # per_gpu, all_gpus: the fullest GPU, and all GPUs together.
    per_gpu: Amount
    all_gpus: Amount
    left_out: int = 0  # bytes of the files that are loaded nowhere, in system memory neither


class Loader(Protocol):
    """Function that loads one model at any width and division."""

    def __call__(self, sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Engine(ABC):
    """One inference engine. Amounts are bytes of one GPU. Engines are compared by identity.

    The base class stores weights as in files, divides matrices evenly and gives whole layers to
    each pipeline stage; other engines override that.
    """

    slug: str
    name: str  # as its authors write it
    install: str  # address of its authors' page on installing it
    version: str  # version that its constants describe if the request names none
    split_by: SplitBy = "layer"  # its default division among GPUs
    stacks: frozenset[str]  # software stacks it runs on, as the catalogue names them
    abilities: Abilities
    kv_cell_multiple: int = 1  # tokens the cache of a sequence is rounded up to
    # Memory sizes, in bytes, from which its defaults change, and numbers below 2^30 added to them
    # for kinds of cards that differ; the first is 0.
    device_classes: tuple[int, ...] = (0,)
    budget_rule: BudgetRule = "whole"  # amounts that its share of the card has to hold
    memory_total: MemoryTotal = "driver"  # total of the card's memory that the share refers to

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        """Return the one of `device_classes` of a card with this memory, name and software.

        `fabric`: cards of its kind can be joined by NVLink or the like.
        """
        return max(size for size in self.device_classes if size <= memory_bytes)

    def utilization(self, workload: Workload) -> float:
        """Return the share of a card's memory it budgets with; 1 if it takes what it needs."""
        return 1.0

    def free_rule(self, workload: Workload) -> FreeRule:
        """Return its rule for memory that other programs hold."""
        return SHARES_FREE_MEMORY

    def refusal(self, profile: ModelProfile, workload: Workload) -> Note | None:
        """Return why it has no code for the model, None if it has or that is not known."""
        reads_gguf = self.abilities.reads == "gguf"
        reader, stored = "gguf" if reads_gguf else self.slug, profile.quantization
        made_for_it = profile.format == reader or (stored is not None and stored.method == reader)
        types = (name.removesuffix("_text") for name in profile.model_types)
        names = profile.model_classes if reads_gguf else (*profile.model_types, *types)
        if reader not in READ_AT or made_for_it or not names:
            return None
        if not known_models()[reader].isdisjoint(names):
            return None
        named = (profile.model_classes or names)[0]
        return Note("engine_lacks_model", engine=self.name, model=named, release=READ_AT[reader])

    def keeps_prefixes(self, workload: Workload) -> bool:
        """Return whether its version can keep the cache of earlier prompts in system memory."""
        return bool(self.abilities.prefix_memory)

    def notes(self, profile: ModelProfile, workload: Workload) -> tuple[Note, ...]:
        """Return settings the user has to pass, and parts of the model it is not sized for."""
        return ()

    def kv_dtype_sources(self, workload: Workload) -> Collection[str]:
        """Return tools whose FP8 cache flag it obeys (`StoredQuantization.fp8_cache`)."""
        return ()

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        """Return the KV cache's element type at a quantization.

        It is the requested one. For "auto" it is FP8 if the stored checkpoint says so, else the
        type of activations.
        """
        if workload.kv_dtype != _AUTO:
            return workload.kv_dtype
        stored = profile.quantization
        if native and stored is not None and stored.fp8_cache in self.kv_dtype_sources(workload):
            return "fp8"
        # Weights in FP32 have an FP32 cache: PyTorch's engines keep it in the type of computation.
        return "f32" if quant == "fp32" else _AUTO

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        """Return its loader for this model: padding, copies, division, parts left out."""
        layers = profile.architecture.layers if profile.architecture else 1

        def load(sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
            split = placement.split
            provenance = Provenance.EXACT if native else Provenance.DERIVED
            copies = sizes.total + sizes.replicated * (split.tensor - 1)
            fullest = exactly(even_share(sizes, split, layers), provenance)
            return Loaded(fullest, exactly(copies, provenance))

        return load

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        """Return the cache bytes that one sequence of `context` tokens takes on the fullest GPU."""
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
        """Return the longest sequence, up to the model's limit, that a pool on each GPU holds.

        The pool also holds the cache of a draft. None if no cache grows with the sequence.
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
        """Return limits on sequences for a start with `pool_bytes` of cache on each GPU.

        None if it starts with the sequences of the request.
        """
        return None

    def step_tokens(self, placement: Placement) -> int | None:
        """Return tokens of one step of a data-parallel rank; None without a scheduler's option."""
        return None

    @abstractmethod
    def activations(self, placement: Placement) -> Amount:
        """Return the peak of temporary tensors on the fullest GPU."""

    def with_streaming(self, placement: Placement, sizes: WeightSizes, usual: Amount) -> Amount:
        """Return `usual` activations plus copies of weights that are kept on the host."""
        return usual

    @abstractmethod
    def overhead(self, placement: Placement) -> Overhead:
        """Return runtime, communicator and graph memory on each GPU."""


def stage_share(in_layers: int, layers: int, split: Split) -> int:
    """Return the part of `in_layers` that the longest pipeline stage holds."""
    return -(-in_layers * -(-layers // split.pipeline) // layers)


def even_share(sizes: WeightSizes, split: Split, layers: int) -> int:
    """Return bytes of the fullest GPU: whole layers of a stage, a share of each matrix."""
    stage = stage_share(sizes.in_layers, layers, split) + sizes.total - sizes.in_layers
    if split.tensor == 1 or not sizes.total:
        return stage
    divided = stage * sizes.divided // sizes.total
    return stage - divided + -(-divided // split.tensor)


def cache_bytes(engine: Engine, placement: Placement) -> int:
    """Return the cache bytes of all sequences on each GPU."""
    return engine.sequence_bytes(placement, placement.workload.context) * placement.users_each


def all_cache_bytes(engine: Engine, placement: Placement, fullest: int) -> int:
    """Return the cache bytes of all sequences on all GPUs."""
    split = placement.split
    if split.gpus == 1 or split.ranks > 1:
        return fullest * split.gpus
    # Each GPU holds as much as the fullest one; a cache split by layers is counted once.
    once = cache_bytes(engine, replace(placement, split=Split()))
    return min(fullest * split.gpus, once)
