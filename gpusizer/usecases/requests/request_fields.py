"""Groups of fields that several requests share, and the values computed from them.

Type, default, bounds, choices and meaning of a field are defined here alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, PrivateAttr

from gpusizer.core.messages import Note
from gpusizer.core.request_model import RequestModel
from gpusizer.core.units import GB, GIB
from gpusizer.core.validation import (
    MAX_TEXT_CHARS,
    Count,
    Flag,
    Hours,
    Number,
    OneOf,
    Text,
    Texts,
    Unit,
    Usd,
    Watts,
    Years,
    are_texts,
    fail,
    read_text,
    split_commas,
)
from gpusizer.fit.filters import IN_PRODUCTION, STATUSES, GpuFilter
from gpusizer.fit.machine_parser import MOST_RAM_BYTES, split_machines
from gpusizer.fit.requirements import DEFAULT_MAX_LOSS, NO_LIMIT, Requirements
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.gpus.costs.plan import NVME_GB_PER_S
from gpusizer.gpus.names import MAX_COUNT
from gpusizer.gpus.own_memory import FreeMemory
from gpusizer.hub.model_ref import ModelRef, ParseRef, check_revision
from gpusizer.hub.pasted_model import pasted_model
from gpusizer.quality.quality import WORDS, LossWord
from gpusizer.usecases.requests.pasted_machine import read_machine_fields

ALL_QUANTS = "all"
NATIVE_QUANT = "native"
DEFAULT_TOP = 20
MOST_GB = 100_000

_STATUS = OneOf((*STATUSES, IN_PRODUCTION))


def _read_statuses(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_STATUS.read, texts))


def _split_machines(value: object) -> object:
    items = split_commas(value)
    return split_machines(items) if are_texts(items) else items


def model_in_words(text: str) -> str:
    """Return a model as typed; for a long pasted text the model that it names."""
    named = pasted_model(text) if len(text) > MAX_TEXT_CHARS else None
    if named is None:
        return text
    return f"ollama run {named.text}" if named.of_ollama else named.text


def _read_model(value: object) -> str:
    return read_text(model_in_words(value) if isinstance(value, str) else value)


# a list of machines, or text with commas; memory alone belongs to the machine before it
Machines = Annotated[Texts, BeforeValidator(_split_machines)]


def read_underscores(value: object) -> str:
    """Return a name with hyphens read as underscores."""
    return read_text(value).replace("-", "_")


class OwnMemoryFields(RequestModel):
    """Free memory of the named GPUs."""

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
        description="memory that is free on every device of the named GPUs, in GB of 10^9 bytes;"
        ' of one card alone, "4090 (20992 MiB free)"; of a Mac or an APU its GPU limit',
    )

    @property
    def own_memory(self) -> FreeMemory:
        """Free memory of the named GPUs. Raises InvalidRequest if it is stated in both ways."""
        if self.used_gb is not None and self.usable_gb is not None:
            raise fail("used_gb", self.used_gb, "used_or_usable")
        free, used = (
            None if gb is None else round(gb * GB) for gb in (self.usable_gb, self.used_gb)
        )
        return FreeMemory(free, used)


def unnamed_notes(memory: FreeMemory, *, has_ram: bool = False) -> tuple[Note, ...]:
    """Return notes on memory that was stated without a GPU.

    Memory in use counts on every device of a ranking; free memory and system memory apply to one
    machine.
    """
    notes = []
    if memory.used_bytes:
        notes.append(Note("used_memory_everywhere", used_bytes=memory.used_bytes))
    if memory.free_bytes is not None or has_ram:
        notes.append(Note("own_memory_not_applied"))
    return tuple(notes)


class DiskFields(RequestModel):
    """Speed of the machine's disk."""

    heading: ClassVar[str] = "disk"

    disk_gb_per_s: Annotated[Number, Unit("GB/s")] = Field(
        NVME_GB_PER_S,
        ge=0.01,
        le=100,
        description="GB (10^9 bytes) a second that the machine's disk reads: weights at each"
        " start, and what llama.cpp maps beyond GPUs and system memory; 7 is an NVMe disk on four"
        " lanes of PCIe 4.0",
    )


class OwnMachineFields(DiskFields):
    """Facts of the machine around the named GPUs."""

    heading: ClassVar[str] = "machine of the named GPUs"

    ram_gb: Annotated[Number | None, Unit("GB")] = Field(
        None,
        ge=1,
        le=MOST_RAM_BYTES // GIB,
        description="system memory of the machine around the named GPUs, in GB of 2^30 bytes as"
        " modules count: whether it holds what llama.cpp leaves there is checked, and what it does"
        " not is read from the disk; a GPU named without a number is then one; under WSL, what"
        " programs have there (half of the computer's by default)",
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
        """System memory in bytes, or None if not stated."""
        return None if self.ram_gb is None else round(self.ram_gb * GIB)

    @property
    def ram_bytes_per_second(self) -> float | None:
        """Bandwidth of system memory, or None if not stated."""
        return None if self.ram_gb_per_s is None else self.ram_gb_per_s * GB

    @property
    def disk_bytes_per_second(self) -> float:
        """Read rate of the disk in bytes per second."""
        return self.disk_gb_per_s * GB


class ModelFields(RequestModel):
    """Model and files of the Hub."""

    heading: ClassVar[str] = "model"

    model: Annotated[str, PlainValidator(_read_model), Unit("TEXT")] = Field(
        "", description='model ID or Hub URL, such as "Qwen/Qwen3-8B"'
    )
    revision: Annotated[Text | None, Unit("REV")] = Field(None, description="branch, tag or commit")
    file: Annotated[Text | None, Unit("PATH")] = Field(
        None, description="one file of the repository"
    )

    def ref(self, parse: ParseRef) -> ModelRef:
        """Return the reference that `parse` reads in the model. Raises InvalidRequest."""
        ref = parse(self.model)
        if self.revision:
            ref = replace(ref, revision=check_revision(self.revision))
        return replace(ref, file=self.file) if self.file else ref


class GpuFields(OwnMemoryFields):
    """GPUs to look at, and the number of rows to answer with."""

    heading: ClassVar[str] = "GPUs"
    _about_machine: tuple[Note, ...] = PrivateAttr(())

    gpus: Machines = Field(
        (),
        alias="gpu",
        description='look at these GPUs, separated by commas ("4090, 2x3090, 3060 + 64 GB RAM"),'
        ' instead of ranking all; one that no list has is described: "custom:96GB@1800GB/s", then,'
        ' if known, "@200TFLOPS" (dense, 16 bits), "@5000USD", "@350W", its stack (@CUDA, @ROCm,'
        " @Metal, @oneAPI) and what it computes in (@fp8, @fp4, @int8); also what nvidia-smi,"
        " rocm-smi, amd-smi, xpu-smi, system_profiler, lspci, free, Get-CimInstance or DxDiag"
        " prints about a machine",
    )
    gpu_count: Count | None = Field(
        None,
        ge=1,
        le=MAX_COUNT,
        description="boards of each GPU; without it the smallest that one plans with (1, 2, 4, 8,"
        " …) and that runs the model, of cards for servers the smallest that holds all of it",
    )
    top: Count = Field(
        DEFAULT_TOP, ge=0, le=1000, description="rows of the ranking to return, 0 for all"
    )

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request; pasted output of programs is read as a machine.

        Raises InvalidRequest for invalid fields.
        """
        read, notes = read_machine_fields(fields)
        request = cls.of_machines(read)
        request._about_machine = notes
        return request

    @classmethod
    def of_machines(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request whose machines are stated in words."""
        return super().from_fields(fields)

    @property
    def about_machine(self) -> tuple[Note, ...]:
        """Notes on a machine that was read from a program's output."""
        return self._about_machine


class QuantFields(RequestModel):
    """Storage format of weights."""

    heading: ClassVar[str] = "quantization"

    quants: Annotated[Texts, Unit("SLUGS")] = Field(
        (ALL_QUANTS,),
        alias="quant",
        description='quantization slugs separated by commas, "native" for the checkpoint as'
        ' stored, or "all"',
    )
    max_loss: Annotated[str, OneOf(tuple(WORDS)), BeforeValidator(read_underscores)] = Field(
        DEFAULT_MAX_LOSS.value,
        description="the most that a quantization chosen for you may lose, in the words of"
        " `quality`; more only where nothing else fits. What `quant` names is taken as it is",
    )

    def requirements(self, wanted: Sequence[str], min_tok_s: float | None = None) -> Requirements:
        """Return the requirements on a run config.

        `wanted` are the quantizations to answer for; named ones are always allowed.
        """
        most = LossWord(self.max_loss) if ALL_QUANTS in wanted else NO_LIMIT
        return Requirements(most, min_tok_s)


class RigFields(OwnMachineFields):
    """One machine of mixed cards."""

    heading: ClassVar[str] = "mixed machine"

    rig: Annotated[Text, Unit("CARDS")] = Field(
        "", description='place models on this machine, as llama.cpp would: "3090 + 3060 + 64gb ram"'
    )


class FilterFields(RequestModel):
    """GPUs and plans that a ranking may consider."""

    heading: ClassVar[str] = "filters"

    vendors: Texts = Field((), alias="vendor", description="only these vendors")
    segments: Texts = Field(
        (),
        alias="segment",
        description="only these segments: consumer, workstation, datacenter, apple, embedded, soc",
    )
    software: Texts = Field(
        (), description="only these software stacks: CUDA, ROCm, Metal, oneAPI, CANN, …"
    )
    statuses: Annotated[Texts, AfterValidator(_read_statuses)] = Field(
        (), alias="status", description=f"only cards that are {', '.join(_STATUS.choices)}"
    )
    rentable: Flag | None = Field(
        None, description="true for what somebody rents out, false for the rest"
    )
    max_usd: Usd | None = Field(
        None, ge=1, le=1e9, description="most that all boards together may cost to buy"
    )
    max_usd_per_hour: Usd | None = Field(
        None,
        ge=0.001,
        le=1e6,
        description="most that all boards together may cost to rent for an hour",
    )
    max_watts: Watts | None = Field(
        None, ge=1, le=1e6, description="most that all boards together may draw"
    )

    @property
    def filters(self) -> GpuFilter:
        """The fields as a filter of rankings."""
        return GpuFilter(**{field.name: getattr(self, field.name) for field in fields(GpuFilter)})


class CostFields(DiskFields):
    """Assumptions of costs."""

    heading: ClassVar[str] = "costs"

    hours_per_day: Hours = Field(
        DEFAULT_ASSUMPTIONS.hours_per_day, ge=0.01, le=24, description="hours of work a day"
    )
    usd_per_kwh: Usd = Field(
        DEFAULT_ASSUMPTIONS.usd_per_kwh, ge=0, le=10, description="price of electricity, for a kWh"
    )
    amortisation_years: Years = Field(
        DEFAULT_ASSUMPTIONS.amortisation_years,
        ge=0.1,
        le=20,
        description="years after which bought boards are worth nothing",
    )
    host_usd: Usd = Field(
        DEFAULT_ASSUMPTIONS.host_usd,
        ge=0,
        le=1e7,
        description="price of the computer around the boards, 0 to leave it out",
    )
    gpu_usd: Usd | None = Field(
        None,
        ge=0,
        le=1e7,
        description="your own price of one board of the GPUs named, in place of those on record",
    )
    gpu_usd_per_hour: Usd | None = Field(
        None,
        ge=0,
        le=10_000,
        description="your own price of an hour of one board of the GPUs named",
    )
    network_gbit_per_s: Annotated[Number, Unit("GBIT/S")] = Field(
        DEFAULT_ASSUMPTIONS.network_gbit_per_s,
        ge=0.001,
        le=10_000,
        description="speed of the network that weights are downloaded over, in Gbit/s",
    )

    @property
    def assumptions(self) -> CostAssumptions:
        """The fields as assumptions of costs."""
        names = [field.name for field in fields(CostAssumptions)]
        return CostAssumptions(**{name: getattr(self, name) for name in names})
