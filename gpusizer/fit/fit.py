"""Fit: a way to run a model, with what the machine's memory holds beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.bisection import largest_holding
from gpusizer.fit.machine import Machine
from gpusizer.fit.placement.arrangement import arrange, judged
from gpusizer.fit.run_config import RunConfig, pool_on
from gpusizer.fit.run_configs import load_of
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import grows
from gpusizer.memory.workload import MOST_CONTEXT


@dataclass(frozen=True, slots=True)
class Fit:
    """One way to run a model on a machine, and the capacity of its cache."""

    config: RunConfig
    kv_pool_bytes: int  # bytes for the cache on each card
    # tokens in the pool of one data-parallel rank, as vLLM reports them; None if the cache does not
    # grow
    kv_pool_tokens: int | None
    # tokens of the longest single sequence; None if the cache does not grow
    max_context: int | None
    # sequences of the requested context in the pools of all data-parallel ranks; None if layers are
    # on unlike devices
    max_concurrency: float | None

    @classmethod
    def from_config(cls, study: Study, config: RunConfig) -> Fit:
        """Build the fit of a way."""
        if config.arranged is not None:
            return cls(config, _pool_arranged(config), None, _longest_arranged(study, config), None)
        if not config.machine.gpus:
            return cls(config, 0, None, None, None)
        pool = pool_on(config.gpu, config.estimate)
        held = sequences_held(study, config.estimate, pool)
        return cls(
            config=config,
            kv_pool_bytes=pool,
            # Sequences times their length: with sliding windows a single sequence could be longer.
            kv_pool_tokens=None if held is None else int(held * study.workload.context),
            max_context=config.estimate.longest_context(pool),
            max_concurrency=None if held is None else round(held * config.estimate.split.data, 2),
        )

    @property
    def machine(self) -> Machine:
        return self.config.machine

    @property
    def gpu(self) -> Gpu:
        return self.config.gpu

    @property
    def count(self) -> int:
        """Number of boards."""
        return self.config.boards

    @property
    def estimate(self) -> MemoryEstimate:
        return self.config.estimate

    @property
    def verdict(self) -> Verdict:
        return self.config.verdict

    @property
    def headroom_bytes(self) -> int | None:
        """Likely bytes to spare on each card, negative if short; None if unsupported."""
        supported = self.verdict is not Verdict.NOT_SUPPORTED
        return self.config.headroom_bytes if supported else None


def sequences_held(study: Study, estimate: MemoryEstimate, pool: int) -> float | None:
    """Return the sequences of the requested context that one data-parallel rank's pool holds."""
    each = sequence_bytes(study, estimate)
    return pool / each if each else None


def sequence_bytes(study: Study, estimate: MemoryEstimate) -> float:
    """Return the cache bytes of one sequence on each GPU, 0 if the cache does not grow."""
    arch = study.profile.architecture
    if arch is None or not grows(arch):
        return 0.0
    return estimate.per_gpu.kv_cache.likely / estimate.split.users_each(study.workload.sequences)


def _pool_arranged(config: RunConfig) -> int:
    # The device with the fewest bytes for the cache limits all.
    assert config.arranged is not None
    shares = zip(config.arranged.devices, config.machine.gpus, strict=False)
    left = (
        gpu.device_free_bytes - share.total.likely + share.kv_cache.likely for share, gpu in shares
    )
    return max(0, min(left, default=0))


def _longest_arranged(study: Study, config: RunConfig) -> int | None:
    # Longest context, up to the model's limit, that surely fits in the same arrangement, or with
    # routed experts of more layers in system memory if it holds those of some already.
    arch, arranged = study.profile.architecture, config.arranged
    if arch is None or arranged is None or not grows(arch) or not config.verdict.runs:
        return None
    enough = {Verdict.FITS}
    if config.verdict is Verdict.FROM_DISK:
        enough.add(Verdict.FROM_DISK)
    load = load_of(study, config.machine, config.estimate)
    moves_experts = config.verdict is Verdict.OFFLOAD and arranged.how.cpu_experts > 0

    def holds(context: int) -> bool:
        workload = replace(study.workload, context=context, concurrency=1)
        longer = replace(load, workload=workload)
        again = arrange(longer) if moves_experts else None
        if again is None or again.how.gpu_layers != arranged.how.gpu_layers:
            again = judged(longer, arranged.how, default=arranged.default)
        return {*again.verdicts, again.host_verdict or Verdict.FITS} <= enough

    return largest_holding(holds, min(arch.max_context or MOST_CONTEXT, MOST_CONTEXT))
