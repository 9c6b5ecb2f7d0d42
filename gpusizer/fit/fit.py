"""Fits a MemoryEstimate to a number of GPUs of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.parallel_degrees import divides
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.power import is_whole_computer
from gpusizer.memory.card_room import CardRoom
from gpusizer.memory.draft import longest_context
from gpusizer.memory.engines import ENGINES, Engine, Split, find_engine
from gpusizer.memory.estimate import Estimator, MemoryEstimate
from gpusizer.memory.kv_cache import grows
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.variants import is_variant
from gpusizer.memory.weight_sizes import WeightSizes, all_weight_sizes, weight_sizes
from gpusizer.memory.workload import OFFLOADS, Workload
from gpusizer.model.profile import ModelProfile

COUNTS = (1, 2, 4, 8, 16, 32)
"""GPU counts that are tried, smallest first."""

OFFLOAD_ENGINES = frozenset({"llama.cpp", "ollama"})
"""Engines that run part of a model in system memory."""

_TURNS_ENGINE = "diffusers"
# What llama.cpp's converter makes of a checkpoint: plain widths, and released MXFP4 beside 16 bits.
_CONVERTED = {"fp32": "gguf-f32", "bf16": "gguf-f16", "mxfp4": "gguf-f16"}
_OFFLOAD_SHARE = 0.25  # below a quarter of the layers on the GPU, offload is not worth the card
_MAX_CARDS_OF_A_CLUSTER = 32  # of boards for datacenters
_MOST_TENSOR = 8  # most ranks that divide matrices by default: one server
_MAX_CARDS_OF_A_MACHINE = 8  # boards of one workstation or server


class Verdict(StrEnum):
    """Whether a model runs on a set of GPUs."""

    FITS = "fits"  # even at the high end of every band
    TIGHT = "tight"  # at the likely values, not at the high end
    OFFLOAD = "offload"  # part of the weights must live in system memory
    FROM_DISK = (
        "from_disk"  # system memory does not hold that part: the file's pages are read again
    )
    DOES_NOT_FIT = "does_not_fit"

    @property
    def place(self) -> int:
        """Rank of the verdict: 0 for the best, FITS."""
        return list(Verdict).index(self)

    @property
    def all_on_gpu(self) -> bool:
        """Whether it is FITS or TIGHT: the model runs with nothing in system memory."""
        return self in (Verdict.FITS, Verdict.TIGHT)

    @property
    def in_memory(self) -> bool:
        """Whether GPUs and system memory together hold the model."""
        return self.all_on_gpu or self is Verdict.OFFLOAD


@dataclass(frozen=True, slots=True)
class Fit:
    """One model, quantization and engine on `count` GPUs of one kind.

    Attributes:
        headroom_bytes: to spare on each card at the likely values; negative when short.
        kv_pool_bytes: left for the cache on each card.
        kv_pool_tokens: sequences of the asked-for context that the pool of one data-parallel rank
            holds, times their length, as vLLM reports them: with sliding windows a single sequence
            could be longer than that. None where the cache does not grow.
        max_context: longest single sequence the pool holds, None where the cache does not grow.
        max_concurrency: sequences of the asked-for context that the pools of all data-parallel
            ranks hold at once.
    """

    gpu: Gpu
    count: int
    estimate: MemoryEstimate
    verdict: Verdict
    headroom_bytes: int
    kv_pool_bytes: int
    kv_pool_tokens: int | None
    max_context: int | None
    max_concurrency: float | None

    def capacity_json(self) -> dict[str, Any]:
        """The contract's `capacity` object."""
        return {
            "kv_cache_pool_bytes": self.kv_pool_bytes,
            "kv_cache_pool_tokens": self.kv_pool_tokens,
            "max_concurrency": self.max_concurrency,
            "max_context": self.max_context,
        }


def max_cards(gpu: Gpu) -> int:
    """Most boards of this kind that are worth planning with."""
    if is_whole_computer(gpu):
        return 1
    return _MAX_CARDS_OF_A_CLUSTER if gpu.segment == "datacenter" else _MAX_CARDS_OF_A_MACHINE


def asked_split(workload: Workload) -> Split | None:
    """The parallelism the request fixes, None when it leaves it open."""
    tensor, pipeline = workload.tensor_parallel, workload.pipeline_parallel
    expert = workload.expert_parallel or 1
    if tensor is None and pipeline is None and expert == 1:
        return None
    tensor = tensor or expert
    data = expert // tensor if expert > 1 else 1
    return Split(tensor, pipeline or 1, data, expert)


def split_for(engine: Engine, profile: ModelProfile, gpus: int) -> Split | None:
    """How an engine divides a model over `gpus`, None when it cannot.

    Tensor parallelism needs heads, widths and vocabulary that divide by the degree (vLLM refuses
    others); beyond what they allow the rest becomes pipeline stages.
    """
    if gpus == 1:
        return Split()
    if engine.split_by == "none":
        return None
    layers = profile.architecture.layers if profile.architecture else 1
    if engine.split_by == "layer":
        return Split(pipeline=gpus) if gpus <= layers else None
    tensor = min(gpus, _MOST_TENSOR)
    while tensor > 1 and (gpus % tensor or not _divides(profile, tensor)):
        tensor -= 1
    pipeline = gpus // tensor
    return Split(tensor, pipeline) if pipeline <= layers else None


def _divides(profile: ModelProfile, tensor: int) -> bool:
    """Whether matrices divide by the degree, those of a draft model too; false without a language
    model's configuration."""
    models = (profile, profile.draft.profile) if profile.draft else (profile,)
    return all(model.architecture and divides(model.architecture, tensor) for model in models)


class Fitter:
    """Candidates of one model and workload, and how they fit GPUs."""

    def __init__(
        self,
        profile: ModelProfile,
        workload: Workload,
        quants: Sequence[tuple[Quant, bool]],
        budget: TimeBudget | None = None,
    ) -> None:
        """`quants` pairs each quantization with whether it is the checkpoint as stored.

        `budget` is that of the request, so that several fitters share it.
        """
        self.profile = profile
        self.budget = budget or TimeBudget()
        self.workload = workload
        self._estimator = Estimator(profile, workload)
        self.quants = tuple(quants)
        # Sizes of all files of a GGUF repository are computed together, others when first used.
        self._sizes = all_weight_sizes(profile, quants, workload) if profile.variants else {}

    def for_workload(self, workload: Workload) -> Fitter:
        """The same model under another workload; sizes of weights are not computed again."""
        other = copy(self)
        other.workload = workload
        other._estimator = Estimator(self.profile, workload)
        return other

    def engines(self, quant: Quant) -> tuple[Engine, ...]:
        """Engines to consider: the requested one, else those that run the quantization."""
        if self.workload.engine is not None:
            return (find_engine(self.workload.engine),)
        if self.profile.format == "diffusers":
            return (ENGINES["diffusers"],)
        return tuple(ENGINES[slug] for slug in quant.engines if slug != "diffusers")

    def estimate(
        self, quant: Quant, native: bool, engine: Engine, split: Split, device_class: int = 0
    ) -> MemoryEstimate:
        """One estimate; parts shared with earlier ones are not computed again.

        Every loop over GPUs, counts and workloads comes through here. Raises LimitsExceeded once
        the time of the answer is spent.
        """
        self.budget.check(self.profile.repo_id)
        converted = _CONVERTED.get(quant.slug) if engine.slug in OFFLOAD_ENGINES else None
        if converted is not None and not is_variant(quant):
            native, sizes = False, self._sized(find_quant(converted), native=False)
        else:
            sizes = self._sized(quant, native=native)
        return self._estimator.estimate(
            quant, engine, sizes, split, native=native, device_class=device_class
        )

    def _sized(self, quant: Quant, *, native: bool) -> WeightSizes:
        """Sizes of the weights, computed once: llama.cpp needs a GGUF file of a checkpoint."""
        if quant.slug not in self._sizes:
            self._sizes[quant.slug] = weight_sizes(
                self.profile, quant, native=native, workload=self.workload
            )
        return self._sizes[quant.slug]

    def split(self, engine: Engine, gpus: int) -> Split | None:
        """The requested parallelism, else the engine's default for `gpus` GPUs."""
        requested = asked_split(self.workload)
        if requested is None:
            return split_for(engine, self.profile, gpus)
        return requested if requested.gpus == gpus else None

    def fit(self, gpu: Gpu, boards: int, estimate: MemoryEstimate) -> Fit:
        """How one estimate fits `boards` boards of a GPU."""
        pool = pool_on(gpu, estimate)
        held = self.sequences_held(estimate, pool)
        return Fit(
            gpu=gpu,
            count=boards,
            estimate=estimate,
            verdict=self.verdict(gpu, estimate),
            headroom_bytes=headroom_on(gpu, estimate),
            kv_pool_bytes=pool,
            kv_pool_tokens=None if held is None else int(held * self.workload.context),
            max_context=self._max_context(estimate, pool),
            max_concurrency=None if held is None else round(held * estimate.split.data, 2),
        )

    def fit_on(
        self, gpu: Gpu, boards: int, quant: Quant, native: bool, engine: Engine
    ) -> Fit | None:
        """One quantization and engine on `boards` boards, None when they cannot share it."""
        estimate = self.estimate_on(gpu, boards, quant, native, engine)
        return None if estimate is None else self.fit(gpu, boards, estimate)

    def estimate_on(
        self, gpu: Gpu, boards: int, quant: Quant, native: bool, engine: Engine
    ) -> MemoryEstimate | None:
        """The estimate behind `fit_on`."""
        split = self.split(engine, boards * gpu.devices_per_board)
        if split is None:
            return None
        return self.estimate(quant, native, engine, split, device_class_of(engine, gpu))

    def verdict(self, gpu: Gpu, estimate: MemoryEstimate) -> Verdict:
        """Whether one card of this kind holds its share of the estimate."""
        if not runs_on(estimate.quant, estimate.engine, gpu):
            return Verdict.DOES_NOT_FIT
        if headroom_on(gpu, estimate, cautious=True) >= 0:
            return Verdict.FITS
        short = -headroom_on(gpu, estimate)
        if short <= 0:
            return Verdict.TIGHT
        movable = estimate.per_gpu.weights.likely * (1 - _OFFLOAD_SHARE)
        if estimate.engine.slug in OFFLOAD_ENGINES and short <= movable:
            return Verdict.OFFLOAD
        return Verdict.OFFLOAD if self.turns(gpu, estimate) else Verdict.DOES_NOT_FIT

    def turns(self, gpu: Gpu, whole: MemoryEstimate) -> tuple[tuple[str, MemoryEstimate], ...]:
        """Stronger `cpu_offload` with which a pipeline fits, up to the first that surely does."""
        fitting: list[tuple[str, MemoryEstimate]] = []
        if self.profile.pipeline is None or whole.engine.slug != _TURNS_ENGINE:
            return ()
        for mode in OFFLOADS[OFFLOADS.index(self.workload.cpu_offload) + 1 :]:
            workload = replace(self.workload, cpu_offload=mode)
            estimate = Estimator(self.profile, workload).estimate(
                whole.quant,
                whole.engine,
                whole.sizes,
                whole.split,
                native=whole.native,
                device_class=whole.device_class,
            )
            if headroom_on(gpu, estimate) >= 0:
                fitting.append((mode, estimate))
            if headroom_on(gpu, estimate, cautious=True) >= 0:
                break
        return tuple(fitting)

    def _max_context(self, estimate: MemoryEstimate, pool: int) -> int | None:
        workload = replace(self.workload, kv_dtype=estimate.kv_dtype)
        arch, engine, split = self.profile.architecture, estimate.engine, estimate.split
        if estimate.draft is not None and arch is not None:
            return longest_context(estimate.draft, arch, workload, split, pool)
        return engine.longest_context(arch, workload, split, estimate.device_class, pool)

    def sequences_held(self, estimate: MemoryEstimate, pool: int) -> float | None:
        """Sequences of the asked-for context that the pool of one data-parallel rank holds."""
        arch = self.profile.architecture
        if arch is None or not grows(arch):
            return None
        users = estimate.split.users_each(self.workload.concurrency)
        sequence_bytes = estimate.per_gpu.kv_cache.likely / users
        return pool / sequence_bytes if sequence_bytes else None


def keeps_part_in_memory(
    profile: ModelProfile, workload: Workload, estimate: MemoryEstimate
) -> bool:
    """Whether the request itself leaves layers or experts in system memory."""
    if estimate.engine.slug not in OFFLOAD_ENGINES:
        return False
    layers, arch = workload.gpu_layers, profile.architecture
    some_layers = layers is not None and (arch is None or layers <= arch.layers)
    return some_layers or (workload.cpu_moe and bool(arch and arch.experts))


def memory_of(engine: Engine, gpu: Gpu) -> int:
    """Bytes of one device's memory as an engine counts it, to take its share of."""
    if engine.memory_total == "torch":
        return gpu.device_torch_memory_bytes
    return gpu.device_memory_bytes


def room_on(gpu: Gpu, estimate: MemoryEstimate) -> CardRoom:
    """What the engine may use of each device of a kind, of which other programs may hold a part."""
    return estimate.room(memory_of(estimate.engine, gpu), gpu.free_bytes)


def headroom_on(gpu: Gpu, estimate: MemoryEstimate, *, cautious: bool = False) -> int:
    """Bytes to spare on each device of a kind, of which other programs may hold a part."""
    memory = memory_of(estimate.engine, gpu)
    return estimate.headroom_bytes(memory, free_bytes=gpu.free_bytes, cautious=cautious)


def pool_on(gpu: Gpu, estimate: MemoryEstimate) -> int:
    """Bytes that the engine gives the KV cache on each device of a kind."""
    return estimate.pool_bytes(memory_of(estimate.engine, gpu), free_bytes=gpu.free_bytes)


def device_class_of(engine: Engine, gpu: Gpu) -> int:
    """The engine's defaults that apply on this GPU."""
    by_stack = engine.backend_class(gpu.software)
    if by_stack is not None:
        return by_stack
    fabric = bool(gpu.nvlink or gpu.interconnect)
    return engine.device_class(gpu.device_memory_bytes, gpu.name, gpu.software, fabric=fabric)
