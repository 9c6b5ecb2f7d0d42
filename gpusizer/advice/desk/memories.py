"""Memories of a desk: each device and system memory, with what the models that stay hold of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusizer.advice.desk.seating import DeskServer
from gpusizer.fit.machine import Machine
from gpusizer.gpus import Gpu


@dataclass(frozen=True, slots=True)
class DeskMemory:
    """Memory that models share.

    Attributes:
        free_bytes: before any model is loaded.
        held: bytes at the high end by the number of each model that stays there, in starting order.
    """

    free_bytes: int
    held: Mapping[int, int]

    @property
    def held_bytes(self) -> int:
        """Bytes that models which stay hold together."""
        return sum(self.held.values())

    @property
    def left_bytes(self) -> int:
        """Bytes that are left beside these."""
        return self.free_bytes - self.held_bytes

    @property
    def models(self) -> tuple[int, ...]:
        """Numbers of the models that stay there, in starting order."""
        return tuple(self.held)


@dataclass(frozen=True, slots=True)
class DeskDevice(DeskMemory):
    """A device of the machine, by its number from 0."""

    number: int
    gpu: Gpu


def devices_of(machine: Machine, servers: Sequence[DeskServer | None]) -> tuple[DeskDevice, ...]:
    """Return the devices of a machine; `servers` are those of the models, in their order."""
    return tuple(
        DeskDevice(gpu.device_free_bytes, _held_of(servers, number), number, gpu)
        for number, gpu in enumerate(machine.gpus)
    )


def system_memory_of(machine: Machine, servers: Sequence[DeskServer | None]) -> DeskMemory | None:
    """Return system memory as models may use it, None where none is stated."""
    free_bytes = machine.free_ram_bytes
    return DeskMemory(free_bytes, _held_of(servers, None)) if free_bytes else None


def _held_of(servers: Sequence[DeskServer | None], device: int | None) -> Mapping[int, int]:
    # None is system memory.
    starts = {n: server.start for n, server in enumerate(servers) if server and server.start}
    order = sorted(starts, key=lambda number: starts[number])
    held = {n: _bytes_on(server, device) for n in order if (server := servers[n])}
    return {number: amount for number, amount in held.items() if amount}


def _bytes_on(server: DeskServer, device: int | None) -> int:
    option = server.seat.option
    if device is None:
        return option.ram_bytes
    takings = zip(server.devices, option.takings, strict=True)
    return sum(taking.held_bytes for number, taking in takings if number == device)
