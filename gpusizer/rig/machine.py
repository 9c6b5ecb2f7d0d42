"""Rig: the cards of one machine, and the llama.cpp build that uses them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.engines import ENGINES
from gpusizer.engines.llama_cpp import BACKENDS, CUDA, VULKAN
from gpusizer.errors import InvalidRequest
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.notes import Note
from gpusizer.rig.words import RigWords
from gpusizer.support import runs_engine
from gpusizer.units import GIB

SYSTEM_BYTES = 4 * GIB
"""Of the system memory, taken to be in use by the system and other programs. An assumption."""

CPU = "CPU"
_VULKAN_NAME = "Vulkan"


@dataclass(frozen=True, slots=True)
class Rig:
    """One machine.

    Attributes:
        gpus: one entry for each device that software sees, fastest first, as CUDA lists them.
        ram_bytes: system memory, None when nobody said; 0 where the GPU's own is all there is.
        backend: name of the llama.cpp build: a software stack, "Vulkan" or "CPU".
        notes: what the reader must know about this set of cards.
    """

    gpus: tuple[Gpu, ...]
    ram_bytes: int | None
    backend: str
    notes: tuple[Note, ...]

    @property
    def device_class(self) -> int:
        """The engine's defaults that apply: those of the backend."""
        return VULKAN if self.backend == _VULKAN_NAME else BACKENDS.get(self.backend, CUDA)

    @property
    def free_ram_bytes(self) -> int | None:
        """System memory that a model may use, None when nobody said how much there is."""
        return None if self.ram_bytes is None else max(0, self.ram_bytes - SYSTEM_BYTES)

    @property
    def shares_memory(self) -> bool:
        """Whether the GPU's memory is the machine's own: nothing can be moved elsewhere."""
        return len(self.gpus) == 1 and self.gpus[0].segment in ("apple", "soc", "embedded")


def build_rig(words: RigWords, catalogue: Catalogue) -> Rig:
    """The machine behind the words.

    Raises UnknownGpu, and InvalidRequest for cards that llama.cpp cannot use or not together.
    """
    boards = [catalogue.find(name) for name in words.cards]
    gpus = [gpu for gpu in boards for _ in range(gpu.devices_per_board)]
    gpus.sort(key=lambda gpu: -(gpu.fp32_flops or 0))
    backend = _backend(boards)
    notes = []
    if backend == _VULKAN_NAME:
        notes.append(Note("rig_vulkan", stacks=", ".join(sorted({g.software for g in boards}))))
    if backend == CPU:
        notes.append(Note("rig_cpu_only"))
    rig = Rig(tuple(gpus), words.ram_bytes, backend, tuple(notes))
    if rig.shares_memory:
        extra = (Note("rig_shared_memory", gpu=gpus[0].name),) if words.ram_bytes else ()
        return Rig(rig.gpus, 0, backend, extra)
    if words.ram_bytes is None:
        return Rig(rig.gpus, None, backend, (*notes, Note("rig_ram_unknown")))
    return rig


def _backend(boards: Sequence[Gpu]) -> str:
    """The build that drives all cards at once."""
    for gpu in boards:
        if not runs_engine(ENGINES["llama.cpp"], gpu):
            raise _refusal(boards, "rig_not_supported", gpu=gpu.name)
    stacks = {gpu.software for gpu in boards}
    if not stacks:
        return CPU
    apple = [gpu for gpu in boards if gpu.vendor == "Apple"]
    if apple and len(boards) > 1:
        raise _refusal(boards, "rig_apple_alone", gpu=apple[0].name)
    if len(stacks) == 1:
        return stacks.pop()
    for gpu in boards:
        if not _has_vulkan(gpu):
            raise _refusal(boards, "rig_no_vulkan", gpu=gpu.name, stacks=", ".join(sorted(stacks)))
    return _VULKAN_NAME


def _has_vulkan(gpu: Gpu) -> bool:
    """Graphics parts have Vulkan drivers; CDNA, Ponte Vecchio and the Chinese stacks are not
    known to."""
    if gpu.vendor == "AMD":
        return not gpu.architecture.startswith("CDNA")
    return gpu.vendor == "NVIDIA" or gpu.slug.startswith("arc-")


def _refusal(boards: Sequence[Gpu], reason: str, **facts: str) -> InvalidRequest:
    value = " + ".join(gpu.slug for gpu in boards)
    return InvalidRequest(field="rig", value=value[:160], reason=reason, **facts)
