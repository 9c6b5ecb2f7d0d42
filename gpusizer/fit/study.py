"""Study: a model and a workload, with everything that questions about them compute once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.compatibility import Support
from gpusizer.fit.division import asked_split, split_for
from gpusizer.fit.losses import quality_at
from gpusizer.fit.requirements import DEFAULT_REQUIREMENTS, NO_LIMIT, Requirements
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import ENGINES, Engine, Split, find_engine
from gpusizer.memory.estimate import Estimator, MemoryEstimate
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.variants import is_variant
from gpusizer.memory.weight_sizes import WeightSizes, all_weight_sizes, weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

# A quantization, and whether it is the checkpoint as stored.
QuantPair = tuple[Quant, bool]

# Conversion of a checkpoint by llama.cpp: plain widths, and released MXFP4 next to 16 bits.
_CONVERTED = {"fp32": "gguf-f32", "bf16": "gguf-f16", "mxfp4": "gguf-f16"}


class EngineRecipe(Protocol):
    """A quantization, whether it is the checkpoint as stored, and the engine that runs it."""

    @property
    def quant(self) -> Quant: ...

    @property
    def native(self) -> bool: ...

    @property
    def engine(self) -> Engine: ...


class QuantOption(NamedTuple):
    """A recipe on some kind of device."""

    quant: Quant
    native: bool
    engine: Engine
    # the quantization is one to choose unasked, under the first engine that runs it
    is_usual: bool = True
    least_bytes: float = 0.0  # bytes of weights that all devices together hold at least


_Key = TypeVar("_Key", bound=Hashable)
_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


class CacheScope:
    """Lifetime of cached values, which are freed with it."""

    def __init__(self) -> None:
        self.values: dict[object, dict[Any, Any]] = {}


class ScopedCache(Generic[_Key, _Value]):
    """Values by key, separate for each scope."""

    def values(self, scope: CacheScope) -> dict[_Key, _Value]:
        """Return the values of a scope, to read and to add to."""
        return scope.values.setdefault(self, {})

    def get(self, scope: CacheScope, key: _Key, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key, computed at its first use."""
        values = self.values(scope)
        if key not in values:
            values[key] = make()
        return values[key]


class IdentityCache(Generic[_Item, _Value]):
    """Values by the identity of an item."""

    def __init__(self) -> None:
        # The item is kept, so that no other object gets its identity.
        self._known: ScopedCache[int, tuple[_Item, _Value]] = ScopedCache()

    def get(self, scope: CacheScope, item: _Item, make: Callable[[], _Value]) -> _Value:
        """Return the value of an item, computed at its first use."""
        return self._known.get(scope, id(item), lambda: (item, make()))[1]


class Study:
    """Profile, resolved workload and quantizations of one question.

    Caches estimates and sizes of weights for all machines.
    """

    def __init__(
        self,
        profile: ModelProfile,
        workload: Workload,
        quants: Sequence[QuantPair],
        budget: TimeBudget | None = None,
        requirements: Requirements = DEFAULT_REQUIREMENTS,
    ) -> None:
        # Several studies share the budget of an answer.
        self.profile = profile
        self.workload = workload
        self.quants = _by_faithfulness(quants)
        self.budget = budget or TimeBudget()
        self.requirements = requirements
        self._sizes: dict[str, WeightSizes] = {}
        self._size_files(quants)
        self._estimator = Estimator(profile, workload)
        self._estimates: dict[tuple[str, bool, str, Split, int], MemoryEstimate] = {}
        self._engines: dict[tuple[str, ...], tuple[Engine, ...]] = {}
        self._support: dict[str, Support] = {}
        self._splits: dict[tuple[str, int], Split | None] = {}
        self._whole: dict[tuple[str, bool, str, int, int], MemoryEstimate | None] = {}
        # Scopes of values that other modules cache for the workload, and for its quantizations too.
        self.workload_scope, self.quants_scope = CacheScope(), CacheScope()
        self._losses: dict[tuple[str, bool, str], int] = {}

    def with_workload(self, **fields: Any) -> Study:
        """Return a study of the same model with other fields of the workload."""
        other = copy(self)
        other.workload = replace(self.workload, **fields)
        other._estimator = Estimator(self.profile, other.workload)
        other._estimates, other._engines, other._splits = {}, {}, {}
        other._whole, other._losses, other._support = {}, {}, {}
        other.workload_scope, other.quants_scope = CacheScope(), CacheScope()
        return other

    def with_quants(self, quants: Sequence[QuantPair]) -> Study:
        """Return the same study with other quantizations to choose from."""
        other = copy(self)
        other.quants, other.quants_scope = _by_faithfulness(quants), CacheScope()
        other._size_files(quants)
        return other

    def with_fixed_quants(self, quants: Sequence[QuantPair]) -> Study:
        """Return the same study with quantizations that are accepted whatever they lose."""
        other = self.with_quants(quants)
        other.requirements = replace(self.requirements, max_loss=NO_LIMIT)
        return other

    def _size_files(self, quants: Sequence[QuantPair]) -> None:
        # All files of a GGUF repository are sized together, other weights at their first use.
        if self.profile.variants and any(quant.slug not in self._sizes for quant, _ in quants):
            self._sizes |= all_weight_sizes(self.profile, quants, self.workload)

    def engines(self, quant: Quant) -> tuple[Engine, ...]:
        """Return the engines that run the model at a quantization, the usual one first."""
        # A requested engine is the only one.
        if self.workload.engine is not None:
            return (find_engine(self.workload.engine),)
        slugs = quant.engines
        if self.profile.format == "diffusers":  # it reads files of every quantization
            slugs = tuple(
                slug for slug, engine in ENGINES.items() if "pipeline" in engine.abilities.kinds
            )
        if slugs not in self._engines:
            self._engines[slugs] = tuple(
                ENGINES[slug] for slug in slugs if self.support(ENGINES[slug]).runs
            )
        return self._engines[slugs]

    def support(self, engine: Engine) -> Support:
        """Return whether an engine runs the model with its workload; cached."""
        if engine.slug not in self._support:
            self._support[engine.slug] = Support.between(engine, self.profile, self.workload)
        return self._support[engine.slug]

    def split(self, engine: Engine, devices: int) -> Split | None:
        """Return the requested parallelism, else the engine's default for `devices`."""
        requested = asked_split(self.workload)
        if requested is not None:
            return requested if requested.gpus == devices else None
        key = (engine.split_by, devices)
        if key not in self._splits:
            self._splits[key] = split_for(engine, self.profile, devices)
        return self._splits[key]

    def estimate(
        self, quant: Quant, native: bool, engine: Engine, split: Split, device_class: int = 0
    ) -> MemoryEstimate:
        """Return the memory of one way to run the model; cached.

        Raises LimitsExceeded if the answer's time is spent.
        """
        key = (quant.slug, native, engine.slug, split, device_class)
        estimate = self._estimates.get(key)
        if estimate is None:
            # Every loop over GPUs, counts and workloads comes through here.
            self.budget.check(self.profile.repo_id)
            estimate = self._estimates[key] = self._estimated(
                quant, native, engine, split, device_class
            )
        return estimate

    def whole(self, recipe: EngineRecipe, devices: int, device_class: int) -> MemoryEstimate | None:
        """Return the memory of a recipe over `devices`, None if it cannot be divided."""
        quant, engine = recipe.quant, recipe.engine
        key = (quant.slug, recipe.native, engine.slug, devices, device_class)
        if key not in self._whole:
            split = self.split(engine, devices)
            self._whole[key] = None
            if split is not None:
                estimate = self.estimate(quant, recipe.native, engine, split, device_class)
                self._whole[key] = estimate
        return self._whole[key]

    def reestimate(self, like: MemoryEstimate, split: Split | None = None) -> MemoryEstimate:
        """Return an estimate like `like` for this workload, optionally with another `split`."""
        return self.estimate(
            like.quant, like.native, like.engine, split or like.split, like.device_class
        )

    def loss_rank(self, estimate: MemoryEstimate) -> int:
        """Return the rank of the loss that advice uses for an estimate; cached."""
        # Each engine may have another type of cache.
        key = (estimate.quant.slug, estimate.native, estimate.engine.slug)
        rank = self._losses.get(key)
        if rank is None:
            rank = self._losses[key] = quality_at(estimate).advised_word.rank
        return rank

    def known_loss_rank(self, option: QuantOption) -> int:
        """Return the rank of the loss of an option that was estimated before, else 0."""
        return self._losses.get((option.quant.slug, option.native, option.engine.slug), 0)

    def _estimated(
        self, quant: Quant, native: bool, engine: Engine, split: Split, device_class: int
    ) -> MemoryEstimate:
        converted = _CONVERTED.get(quant.slug) if engine.abilities.reads == "gguf" else None
        if converted is not None and not is_variant(quant):
            native, sizes = False, self.sizes(find_quant(converted), native=False)
        else:
            sizes = self.sizes(quant, native=native)
        return self._estimator.estimate(
            quant, engine, sizes, split, native=native, device_class=device_class
        )

    def sizes(self, quant: Quant, *, native: bool) -> WeightSizes:
        """Return the sizes of the weights; cached."""
        if quant.slug not in self._sizes:
            self._sizes[quant.slug] = weight_sizes(
                self.profile, quant, native=native, workload=self.workload
            )
        return self._sizes[quant.slug]


def _by_faithfulness(quants: Sequence[QuantPair]) -> tuple[QuantPair, ...]:
    return tuple(sorted(quants, key=lambda pair: pair[0].order))


@lru_cache(maxsize=8192)  # visitors describe cards of their own
def device_class_of(engine: Engine, gpu: Gpu) -> int:
    """Return the class of an engine's defaults that apply on this GPU."""
    fabric = bool(gpu.nvlink or gpu.interconnect)
    return engine.device_class(gpu.device_memory_bytes, gpu.name, gpu.software, fabric=fabric)


@lru_cache(maxsize=4096)
def device_classes_of(gpu: Gpu) -> tuple[int, ...]:
    """Return `device_class_of` for every engine; GPUs with equal ones take the same memory."""
    return tuple(device_class_of(engine, gpu) for engine in ENGINES.values())
