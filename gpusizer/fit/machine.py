"""Machine: devices in order, system memory, a disk, and what of them is in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB
from gpusizer.fit.compatibility import runs_engine
from gpusizer.fit.machine_parser import MachineWords
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.plan import NVME_GB_PER_S
from gpusizer.gpus.user_gpus import FindsGpus
from gpusizer.memory.engines.llama_cpp import BACKENDS, CUDA, LLAMA_CPP, VULKAN

# System memory assumed to be used by the system and other programs, in bytes.
SYSTEM_BYTES = 4 * GIB

# Bytes a second that a disk reads one after the other.
USUAL_DISK_BYTES_PER_SECOND = NVME_GB_PER_S * GB

CPU = "CPU"
VULKAN_NAME = "Vulkan"


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine, or several joined by a network where the boards of a kind need them."""

    # one entry for each device that software sees; of different kinds the fastest first, as CUDA
    # lists them. What other programs hold of a device is in its `free_bytes`.
    gpus: tuple[Gpu, ...]
    # system memory, None if not stated; 0 where the GPU's own is all there is
    ram_bytes: int | None
    backend: str  # name of llama.cpp's build: a software stack, "Vulkan" or "CPU"
    notes: tuple[Note, ...] = ()  # what the reader must know about this set of cards
    # what its disk reads one after the other
    disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND
    # all devices are of one kind, so that an engine may divide matrices over them
    is_uniform: bool = True
    # nominal bandwidth of the system memory, None if not stated
    ram_bytes_per_second: float | None = None

    @classmethod
    def with_boards(
        cls,
        gpu: Gpu,
        boards: int = 1,
        ram_bytes: int | None = None,
        disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND,
        ram_bytes_per_second: float | None = None,
    ) -> Machine:
        """Return the machine of `boards` boards of one kind."""
        devices = (gpu,) * (gpu.devices_per_board * boards)
        ram = 0 if gpu.is_integrated else ram_bytes
        return cls(
            devices,
            ram,
            gpu.software,
            disk_bytes_per_second=disk_bytes_per_second,
            ram_bytes_per_second=ram_bytes_per_second,
        )

    @property
    def kinds(self) -> tuple[Gpu, ...]:
        """One of its devices where all are alike, else all of them."""
        return self.gpus[:1] if self.is_uniform else self.gpus

    @property
    def gpu(self) -> Gpu:
        """The kind of its devices, of different kinds the fastest."""
        return self.gpus[0]

    @property
    def boards(self) -> int:
        """Boards of a uniform machine; none of one without devices."""
        return len(self.gpus) // self.gpu.devices_per_board if self.gpus else 0

    @property
    def device_class(self) -> int:
        """The defaults of llama.cpp that apply: those of the backend."""
        return VULKAN if self.backend == VULKAN_NAME else BACKENDS.get(self.backend, CUDA)

    @property
    def free_ram_bytes(self) -> int | None:
        """Bytes of system memory that a model may use, None if the request does not state any."""
        return None if self.ram_bytes is None else max(0, self.ram_bytes - SYSTEM_BYTES)

    @property
    def shares_memory(self) -> bool:
        """Whether GPU and system share one memory, so that nothing can be moved out of it."""
        return bool(self.gpus) and all(gpu.is_integrated for gpu in self.gpus)


def build_machine(
    words: MachineWords,
    cards: FindsGpus,
    disk_bytes_per_second: float = USUAL_DISK_BYTES_PER_SECOND,
    ram_bytes_per_second: float | None = None,
) -> Machine:
    """Return the machine that the words describe, with cards found by their names.

    Raises UnknownGpu, and InvalidRequest for cards that no engine uses together.
    """
    boards = [cards.find(name) for name in words.cards]
    apple = [gpu for gpu in boards if gpu.software == "Metal"]
    if apple and len(boards) > 1:
        raise _refusal(boards, "rig_apple_alone", gpu=apple[0].name)
    gpus = [gpu for gpu in boards for _ in range(gpu.devices_per_board)]
    gpus.sort(key=lambda gpu: -(gpu.fp32_flops or 0))
    uniform = bool(gpus) and all(gpu == gpus[0] for gpu in gpus)
    backend = boards[0].software if uniform else _backend(boards)
    notes = list(dict.fromkeys(note for gpu in boards for note in gpu.statements))
    if backend == VULKAN_NAME:
        notes.append(Note("rig_vulkan", stacks=", ".join(sorted({g.software for g in boards}))))
    if backend == CPU:
        notes.append(Note("rig_cpu_only"))
    machine = Machine(
        tuple(gpus),
        words.ram_bytes,
        backend,
        tuple(notes),
        disk_bytes_per_second,
        uniform,
        ram_bytes_per_second,
    )
    if machine.shares_memory:
        extra = (Note("rig_shared_memory", gpu=gpus[0].name),) if words.ram_bytes else ()
        return replace(machine, ram_bytes=0, notes=(*notes, *extra))
    if words.ram_bytes is None:
        return replace(machine, notes=(*notes, Note("rig_ram_unknown")))
    return machine


def _backend(boards: Sequence[Gpu]) -> str:
    # one build of llama.cpp has to drive all cards at once
    for gpu in boards:
        if not runs_engine(LLAMA_CPP, gpu):
            raise _refusal(boards, "rig_not_supported", gpu=gpu.name)
    stacks = {gpu.software for gpu in boards}
    if not stacks:
        return CPU
    if len(stacks) == 1:
        return stacks.pop()
    for gpu in boards:
        if not _has_vulkan(gpu):
            raise _refusal(boards, "rig_no_vulkan", gpu=gpu.name, stacks=", ".join(sorted(stacks)))
    return VULKAN_NAME


def _has_vulkan(gpu: Gpu) -> bool:
    """Whether a GPU has a Vulkan driver: graphics cards do; CDNA, Ponte Vecchio and the Chinese
    stacks are not known to.
    """
    if gpu.vendor == "AMD":
        return not gpu.architecture.startswith("CDNA")
    return gpu.vendor == "NVIDIA" or gpu.slug.startswith("arc-")


def _refusal(boards: Sequence[Gpu], reason: str, **facts: str) -> InvalidRequest:
    value = " + ".join(gpu.slug for gpu in boards)
    return InvalidRequest(field="rig", value=value[:160], reason=reason, **facts)
