"""Capacity limits: the longest context, the most users and the best quantization on a GPU.

Each is found by repeated fits instead of dividing the memory left, because an engine's buffers also
grow with users and tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpusizer.core.bisection import largest_holding
from gpusizer.core.computed_once import computed_once
from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.fit import Fit, sequence_bytes
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_config, choose
from gpusizer.fit.run_config import RunConfig, headroom_on
from gpusizer.fit.run_configs import config_on_gpus, engines_on
from gpusizer.fit.study import QuantPair, ScopedCache, Study
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.kv_cache import grows
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import MOST_CONTEXT, MOST_USERS, Workload

_TRIED: ScopedCache[tuple[int, int], Study] = ScopedCache()


@dataclass(frozen=True, slots=True)
class Plan:
    """A quantization under an engine on a machine, to be changed and judged again."""

    study: Study  # the model, the workload, and every quantization that may be tried
    machine: Machine
    quant: Quant
    native: bool  # the quantization is the checkpoint as stored
    engine: Engine
    # division over equal devices; None for the requested one or the engine's default
    split: Split | None = None

    @classmethod
    def from_config(cls, study: Study, config: RunConfig) -> Plan:
        """Build the plan of a way. `study` must know the way's quantization."""
        estimate = config.estimate
        return cls(study, config.machine, estimate.quant, estimate.native, estimate.engine)

    @property
    def workload(self) -> Workload:
        return self.study.workload

    def with_workload(self, **fields: Any) -> Plan:
        """Return the plan with other fields of the workload."""
        return replace(self, study=self.study.with_workload(**fields))

    def trying(self, context: int | None = None, users: int | None = None) -> Plan:
        """Return the plan for another context or number of users; its study is cached."""
        workload = self.workload
        tried = context or workload.context, users or workload.concurrency
        if tried == (workload.context, workload.concurrency):
            return self
        study = _TRIED.get(
            self.study.workload_scope,
            tried,
            lambda: self.study.with_workload(context=tried[0], concurrency=tried[1]),
        )
        return replace(self, study=study)

    def config(self) -> RunConfig | None:
        """Return how it fits with all of the model on the GPUs, None if it does not run there."""
        runs_there = all(runs_on(self.quant, self.engine, gpu) for gpu in self.machine.gpus)
        if not runs_there or not self.study.support(self.engine).runs:
            return None
        if self.machine.is_uniform:
            return config_on_gpus(self.study, self.machine, self, self.split)
        return best_config(self.study.with_fixed_quants([(self.quant, self.native)]), self.machine)

    def surely_fits(self) -> bool:
        """Whether it fits even at the high end of every band."""
        config = self.config()
        return config is not None and config.verdict is Verdict.FITS

    def requantized(self) -> Iterator[Plan]:
        """Yield the plan in each quantization no wider than the checkpoint, most faithful first."""
        # Recommended quantizations come first. The engine is kept if it runs the quantization.
        for quant, native in sorted(self._narrower, key=lambda p: not p[0].recommended):
            usable = engines_on(self.study, self.machine, quant)
            if usable:
                engine = self.engine if self.engine in usable else usable[0]
                yield replace(self, quant=quant, native=native, engine=engine)

    @property
    def _narrower(self) -> list[QuantPair]:
        stored = next((quant.order for quant, native in self.study.quants if native), 0)
        return [pair for pair in self.study.quants if pair[0].order >= stored]

    def best(self) -> RunConfig | None:
        """Return the preferred way among the narrower quantizations, None if none surely fits."""
        config = choose(self.study.with_quants(self._narrower), [self.machine], whole=True)
        return config if config is not None and config.verdict is Verdict.FITS else None


@dataclass(frozen=True, slots=True)
class Largest:
    """The most that surely fits if one setting changes and the others stay as requested."""

    # users, context: requested values
    users: int
    context: int
    # tokens per sequence for `users` at once; None if the cache does not grow, 0 if not one token
    # fits
    context_at_users: int | None
    # sequences of `context` tokens at once; None if their number does not change the memory
    users_at_context: int | None
    # quant, engine: the preferred quantization for both, None if none fits
    quant: Quant | None
    engine: Engine | None

    def notes(self) -> tuple[Note, ...]:
        """Return notes on the limits."""
        notes = []
        if self.context_at_users:
            notes.append(Note("largest_context", context=self.context_at_users, users=self.users))
        if self.users_at_context:
            notes.append(Note("most_users", users=self.users_at_context, context=self.context))
        if self.quant is not None and self.engine is not None:
            notes.append(Note("best_quant", quant=self.quant.name, engine=self.engine.name))
        return tuple(notes)


@dataclass(frozen=True)
class SureLimits:
    """The most that surely fits for a fit and its division; each is computed when first read."""

    # Rankings, tables, charts, the shell and JSON all take their limits from here.
    study: Study
    fit: Fit

    @computed_once
    def context(self) -> int | None:
        """Tokens of the longest context of one user; None if the cache does not grow."""
        if not _is_whole(self.fit):
            return self.fit.max_context
        return longest_context(self._plan.trying(users=1), self._near_context)

    @property
    def context_at_users(self) -> int | None:
        """Tokens of the longest context of each of the requested users."""
        return longest_context(self._plan, self._near_context)

    @computed_once
    def users(self) -> float | None:
        """Sequences of the requested context at once; None if memory does not limit them."""
        # The cache of this request bounds it.
        held = self.fit.max_concurrency
        if held is None or not _is_whole(self.fit) or self.users_at_context is None:
            return held
        return min(held, self.users_at_context)

    @computed_once
    def users_at_context(self) -> int | None:
        """Whole number of sequences at once, not bounded by the cache of this request."""
        ranks = self.fit.estimate.split.data
        each_bytes = sequence_bytes(self.study, self.fit.estimate)
        if not each_bytes:
            return most_users(self._plan)
        users = most_users(self._plan, self._near_pool_bytes / each_bytes * ranks)
        scheduled = self.study.workload.max_num_seqs
        # Beyond the limit of the scheduler more users take no memory, and wait.
        return scheduled * ranks if users is None and scheduled is not None else users

    @computed_once
    def _near_pool_bytes(self) -> int:
        # Bytes for the cache on each device at the high end of all other parts.
        config = self.fit.config
        if not _is_whole(self.fit):
            return self.fit.kv_pool_bytes
        spare_bytes = headroom_on(config.gpu, config.estimate, cautious=True)
        return max(0, spare_bytes + config.estimate.per_gpu.kv_cache.high)

    @property
    def _near_context(self) -> int | None:
        return self.fit.estimate.longest_context(self._near_pool_bytes)

    @computed_once
    def _plan(self) -> Plan:
        plan, config = Plan.from_config(self.study, self.fit.config), self.fit.config
        return replace(plan, split=config.estimate.split) if _is_whole(self.fit) else plan


def _is_whole(fit: Fit) -> bool:
    config = fit.config
    devices_alike = bool(config.machine.gpus) and config.machine.is_uniform
    return devices_alike and config.arranged is None and not config.in_part


def largest(plan: Plan, limits: SureLimits) -> Largest:
    """Return the largest context, most users and best quantization on the machine of a plan."""
    best, users = plan.best(), plan.workload.concurrency
    return Largest(
        users=users,
        context=plan.workload.context,
        context_at_users=limits.context if users == 1 else limits.context_at_users,
        users_at_context=limits.users_at_context,
        quant=best.estimate.quant if best else None,
        engine=best.estimate.engine if best else None,
    )


def longest_context(plan: Plan, near: int | None = None) -> int | None:
    """Return the most tokens per sequence that surely fit for the requested users.

    `near` is a guess to search from. The model's limit bounds it; None if the cache does not grow.
    """
    profile = plan.study.profile
    if profile.architecture is None or not grows(profile.architecture):
        return None
    limit = min(profile.max_context or MOST_CONTEXT, MOST_CONTEXT)

    def holds(tokens: int) -> bool:
        return plan.trying(context=tokens).surely_fits()

    if near is not None:
        if near >= limit and holds(limit):
            return limit
        near = _along_the_line(plan, min(max(1, near), limit))
    return largest_holding(holds, limit, near)


def _along_the_line(plan: Plan, near: int) -> int:
    # The spare bytes at `near` and at half of it, in a straight line, reach zero in a cell of the
    # cache; its end is returned. Memory bends little, which leaves a search of few steps.
    half = max(1, near // 2)
    first, last = (_spare_bytes(plan.trying(context=tokens)) for tokens in (half, near))
    if first is None or last is None or first <= last:
        return near
    zero = half + (near - half) * first / (first - last)
    cell = plan.engine.kv_cell_multiple
    return max(1, int(zero) // cell * cell)


def _spare_bytes(plan: Plan) -> int | None:
    # Bytes to spare on each GPU at the high end.
    config = plan.config() if plan.machine.is_uniform else None
    return None if config is None else headroom_on(config.gpu, config.estimate, cautious=True)


def most_users(plan: Plan, near: float | None = None) -> int | None:
    """Return the most sequences of the requested context at once that surely fit.

    `near` is the number at the likely values. None if the most that can be requested fit: encoders
    take no memory for each.
    """
    guess = None if near is None else int(near)
    users = largest_holding(lambda n: plan.trying(users=n).surely_fits(), MOST_USERS, guess)
    return None if users == MOST_USERS else users


@dataclass(frozen=True, slots=True)
class Offload:
    """A model with some of its layers on GPUs and the others in system memory."""

    layers: int  # layers on GPUs, the output counted as one: the value of `--gpu-layers`
    of_layers: int  # all layers, with the output
    ram_bytes: int  # weights and cache of the others, in system memory
    headroom_bytes: int  # to spare on each GPU at the likely values


def most_layers(study: Study, whole: RunConfig) -> Offload | None:
    """Return the most layers that surely fit; None if none does or the number is unknown."""
    arch = study.profile.architecture
    if arch is None or whole.machine.shares_memory:
        return None

    def holds(layers: int) -> bool:
        estimate = study.with_workload(gpu_layers=layers, cpu_moe=False).reestimate(whole.estimate)
        return headroom_on(whole.gpu, estimate, cautious=True) >= 0

    layers = largest_holding(holds, arch.layers + 1)
    if not layers:
        return None
    part = study.with_workload(gpu_layers=layers, cpu_moe=False)
    return Offload(
        layers=layers,
        of_layers=arch.layers + 1,
        ram_bytes=_elsewhere(study, part, whole),
        headroom_bytes=headroom_on(whole.gpu, part.reestimate(whole.estimate)),
    )


def without_experts(study: Study, whole: RunConfig) -> int | None:
    """Return bytes of system memory with only routed experts there; None if that is no help."""
    arch = study.profile.architecture
    if arch is None or not arch.experts or not whole.estimate.sizes.experts:
        return None
    if whole.machine.shares_memory:
        return None
    part = study.with_workload(gpu_layers=None, cpu_moe=True)
    if headroom_on(whole.gpu, part.reestimate(whole.estimate), cautious=True) < 0:
        return None
    return _elsewhere(study, part, whole)


def _elsewhere(study: Study, part: Study, whole: RunConfig) -> int:
    on_gpus = part.reestimate(whole.estimate, Split()).per_gpu
    without = study.with_workload(gpu_layers=None, cpu_moe=False)
    everything = without.reestimate(whole.estimate, Split()).per_gpu
    cache = everything.kv_cache.likely - on_gpus.kv_cache.likely
    return whole.estimate.loaded_bytes - on_gpus.weights.likely + cache
