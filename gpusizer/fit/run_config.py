"""RunConfig: a quantization under an engine on a machine, its division, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import GIB, significant
from gpusizer.fit.machine import Machine
from gpusizer.fit.placement.arrangement import Arranged
from gpusizer.fit.platforms import setup_of
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, StartLimit
from gpusizer.memory.estimate import MemoryEstimate, UsableMemory


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One way to run a model on a machine."""

    machine: Machine
    estimate: MemoryEstimate  # its memory; of one device if layers are dealt out to unlike devices
    verdict: Verdict
    # To spare on the fullest device at the likely values, negative if short. Meaningless if no
    # engine runs the model there.
    headroom_bytes: int
    spare_share: float  # `headroom_bytes` as a share of the device's memory
    # the quantization is one to choose unasked, under the first engine that runs it
    is_usual: bool = True
    # placement of layers, None if an engine divides the model over equal devices
    arranged: Arranged | None = None
    reasons: tuple[Note, ...] = ()  # why no engine runs it there, or which part is in system memory
    # memory of a pipeline whose components wait in system memory, None if all stay on the device
    in_turns: MemoryEstimate | None = None
    # missing system memory of a machine, for weights that stay there and kept prefixes
    ram_short_bytes: int = 0

    @property
    def gpu(self) -> Gpu:
        """The kind of the machine's devices."""
        return self.machine.gpu

    @property
    def boards(self) -> int:
        """Number of boards."""
        return self.machine.boards

    @property
    def fullest_gpu_bytes(self) -> int:
        """Bytes on the fullest device at the likely values."""
        if self.arranged is None:
            return self.estimate.needed.likely
        return max((share.total.likely for share in self.arranged.devices), default=0)

    @property
    def ram_bytes(self) -> int:
        """Bytes in system memory: weights that no device holds, the cache of earlier prompts."""
        if self.arranged is not None:
            return self.arranged.host.total.likely
        # Every component of a pipeline starts there and returns to it.
        weights = self.in_turns.sizes.total if self.in_turns else self.estimate.host_bytes
        return weights + self.estimate.kv_offload_bytes

    @property
    def lacks_only_ram(self) -> bool:
        """Whether the devices hold their part, and system memory does not."""
        return self.ram_short_bytes > 0 and self.headroom_bytes >= 0

    @property
    def missing_bytes(self) -> int:
        """Missing bytes on the fullest device, or of system memory where only that is short."""
        return self.ram_short_bytes if self.lacks_only_ram else max(0, -self.headroom_bytes)

    @property
    def verdict_code(self) -> str:
        """The verdict in codes of notes, which name the memory that is short."""
        code = _LACKING_RAM.get(self.verdict) if self.lacks_only_ram else None
        return code or self.verdict.value

    @property
    def in_part(self) -> bool:
        """Whether system memory or the disk holds a part of the model."""
        return self.verdict in (Verdict.OFFLOAD, Verdict.FROM_DISK)


_LACKING_RAM = {
    Verdict.OFFLOAD: "less_in_ram",
    Verdict.FROM_DISK: "ram_from_disk",
    Verdict.DOES_NOT_FIT: "lacks_ram",
}


def memory_of(engine: Engine, gpu: Gpu) -> int:
    """Return bytes of one device's memory as an engine counts it."""
    if engine.memory_total == "torch":
        return gpu.device_torch_memory_bytes
    return gpu.device_memory_bytes


def usable_memory(gpu: Gpu, estimate: MemoryEstimate) -> UsableMemory:
    """Return the memory an engine may allocate on each device, less what other programs use."""
    return estimate.room(memory_of(estimate.engine, gpu), gpu.free_bytes)


def ram_needed(machine: Machine, estimate: MemoryEstimate, offloaded_bytes: int) -> tuple[int, int]:
    """Return bytes that each machine must have free for offloaded weights and kept prefixes, and
    those that it lacks.

    In memory that GPU and system share, prefixes take what the engine's share leaves, and weights
    belong to that share.
    """
    needed, free = 0, machine.free_ram_bytes
    if estimate.kv_offload_bytes:
        # Ranks pin the memory of the machine that they run on.
        nodes = setup_of(machine.gpu, machine.boards).nodes
        needed = -(-estimate.kv_offload_bytes // nodes)
        needed += estimate.engine.abilities.prefix_reserve_gib * GIB
    if machine.shares_memory:
        room = usable_memory(machine.gpu, estimate)
        free = room.free_bytes - room.budget_bytes
    else:
        needed += offloaded_bytes
    return needed, max(0, needed - free) if needed and free is not None else 0


def headroom_on(gpu: Gpu, estimate: MemoryEstimate, *, cautious: bool = False) -> int:
    """Return bytes to spare on each device, at the likely values or at the high end."""
    likely, least = estimate.spare(memory_of(estimate.engine, gpu), gpu.free_bytes)
    return least if cautious else likely


def pool_on(gpu: Gpu, estimate: MemoryEstimate) -> int:
    """Return bytes that the engine gives the KV cache on each device."""
    return estimate.pool_bytes(memory_of(estimate.engine, gpu), free_bytes=gpu.free_bytes)


def start_limit_on(config: RunConfig) -> StartLimit | None:
    """Return the limit of sequences with which the engine starts, None if layers are dealt out."""
    if config.arranged is not None or not config.machine.gpus or not config.verdict.all_on_gpu:
        return None
    estimate = config.estimate
    return estimate.engine.start_limit(estimate.placement, pool_on(config.gpu, estimate))


def start_notes(config: RunConfig) -> tuple[Note, ...]:
    """Return a note on the sequences with which an engine starts, if it may refuse the request."""
    limit, engine = start_limit_on(config), config.estimate.engine
    if limit is None:
        return ()
    option = engine.abilities.sequences_option
    told: dict[str, NoteValue] = {"asked": limit.asked, "most": limit.most, "sure": limit.sure}
    return (Note("sequences_at_start", engine=engine.name, option=option, **told),)


def statements_on(config: RunConfig) -> tuple[Note, ...]:
    """Return notes on user-supplied GPU facts and their effect on the engine's budget."""
    estimate = config.estimate
    room = usable_memory(config.gpu, estimate)
    notes = [*config.gpu.statements]
    if room.refused_bytes:
        notes.append(
            Note(
                "utilization_refused",
                engine=estimate.engine.name,
                percent=significant(100 * room.utilization),
                short_bytes=room.refused_bytes,
            )
        )
    elif room.utilization < estimate.utilization:
        notes.append(
            Note(
                "utilization_lowered",
                engine=estimate.engine.name,
                percent=significant(100 * room.utilization),
                percent_default=significant(100 * estimate.utilization),
            )
        )
    return (*notes, *start_notes(config))
