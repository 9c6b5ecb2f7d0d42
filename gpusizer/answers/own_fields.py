"""Fields about the reader's own machine: memory that is free on its GPUs, system memory, disk."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar

from pydantic import Field

from gpusizer.core.messages import Note
from gpusizer.core.request_model import RequestModel
from gpusizer.core.units import GB, GIB
from gpusizer.core.validation import Number, Unit, fail
from gpusizer.fit.machine_words import MOST_RAM_BYTES
from gpusizer.gpus.costs.loading import NVME_GB_PER_S
from gpusizer.gpus.own_memory import OwnMemory

MOST_GB = 100_000


class OwnMemoryFields(RequestModel):
    """What is free on the named GPUs."""

    heading: ClassVar[str] = "memory of the named GPUs"

    used_gb: Annotated[Number | None, Unit("GB")] = Field(
        None,
        ge=0,
        le=MOST_GB,
        description="memory that other programs hold on every device of the named GPUs, or of all"
        ' that are ranked, in GB of 10^9 bytes; of one card alone, "4090 (3.5 GB used)"',
    )
    usable_gb: Annotated[Number | None, Unit("GB")] = Field(
        None,
        ge=0.1,
        le=MOST_GB,
        description="memory that is free on every device of the named GPUs, in GB of 10^9 bytes; of"
        ' one card alone, "4090 (20992 MiB free)"; of a Mac or an APU its GPU limit',
    )

    @cached_property
    def own_memory(self) -> OwnMemory:
        """What is free on the named GPUs. Raises InvalidRequest where it is said in both ways."""
        if self.used_gb is not None and self.usable_gb is not None:
            raise fail("used_gb", self.used_gb, "used_or_usable")
        free, used = (
            None if gb is None else round(gb * GB) for gb in (self.usable_gb, self.used_gb)
        )
        return OwnMemory(free, used)


def unnamed_notes(memory: OwnMemory, *, has_ram: bool = False) -> tuple[Note, ...]:
    """What becomes of memory that was stated where no GPU is named: what is in use counts on every
    device of a ranking; what is free, or beside the GPUs, is that of one machine.
    """
    notes = []
    if memory.used_bytes:
        notes.append(Note("used_memory_everywhere", used_bytes=memory.used_bytes))
    if memory.free_bytes is not None or has_ram:
        notes.append(Note("own_memory_not_applied"))
    return tuple(notes)


class DiskFields(RequestModel):
    """What the machine's disk does."""

    heading: ClassVar[str] = "disk"

    disk_gb_per_s: Annotated[Number, Unit("GB/s")] = Field(
        NVME_GB_PER_S,
        ge=0.01,
        le=100,
        description="GB (10^9 bytes) a second that the machine's disk reads: weights at each start,"
        " and what llama.cpp maps beyond GPUs and system memory; 7 is an NVMe disk on four lanes of"
        " PCIe 4.0",
    )


class OwnMachineFields(DiskFields):
    """What the machine around the named GPUs has."""

    heading: ClassVar[str] = "machine of the named GPUs"

    ram_gb: Annotated[Number | None, Unit("GB")] = Field(
        None,
        ge=1,
        le=MOST_RAM_BYTES // GIB,
        description="system memory of the machine around the named GPUs, in GB of 2^30 bytes as"
        " modules count: whether it holds what llama.cpp leaves there is checked, and what it does"
        " not is read from the disk; a GPU named without a number is then one",
    )

    ram_gb_per_s: Annotated[Number | None, Unit("GB/s")] = Field(
        None,
        ge=1,
        le=10_000,
        description="bandwidth of that system memory, in GB of 10^9 bytes a second: channels x 8"
        " bytes x transfers, 96 for two of DDR5-6000; without it a band by the kind of machine",
    )

    @property
    def ram_bytes(self) -> int | None:
        """System memory in bytes, None where the field does not state it."""
        return None if self.ram_gb is None else round(self.ram_gb * GIB)

    @property
    def ram_bytes_per_second(self) -> float | None:
        """Bandwidth of system memory, None where the field does not state it."""
        return None if self.ram_gb_per_s is None else self.ram_gb_per_s * GB

    @property
    def disk_bytes_per_second(self) -> float:
        """The disk's speed as a rig takes it."""
        return self.disk_gb_per_s * GB
