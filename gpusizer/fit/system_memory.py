"""The speed of system memory: as stated, else a band by the kind of machine around the devices.

Nominal bandwidth is channels x 8 bytes x transfers a second: two channels of DDR4-3200 are
51.2 GB/s, of DDR5-6000 96; eight of DDR4-3200 204.8; twelve of DDR5-4800 460.8 (JEDEC JESD79-4 and
JESD79-5). Boards with two channels take four modules, 192 GB of DDR5 as a rule; boards for
workstations have four or eight channels, for servers eight or twelve.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, significant
from gpusizer.fit.machine import Machine
from gpusizer.fit.speed.rate import RateBand

RAM_SPEED_NOTES = (
    "ram_speed_stated",
    "ram_speed_desktop",
    "ram_speed_workstation",
    "ram_speed_server",
)
"""Codes of the notes that say what a speed assumes of system memory."""

_DESKTOP_BYTES = 192 * GIB
_WORKSTATION_BYTES = 768 * GIB
_STATED = RateBand(1.0, 1.0)


@dataclass(frozen=True, slots=True)
class SystemMemory:
    """What the modules of a machine deliver.

    Attributes:
        kind: "stated", or the kind of machine that is assumed: "desktop", "workstation", "server".
        bytes_per_second: nominal, likely.
        band: how far that of machines of the kind lies from it.
    """

    kind: str
    bytes_per_second: float
    band: RateBand

    @property
    def note(self) -> Note:
        """What a speed assumes of it, in words."""
        likely, low, high = (
            significant(self.bytes_per_second * factor / GB)
            for factor in (1.0, self.band.low, self.band.high)
        )
        if self.kind == "stated":
            return Note("ram_speed_stated", gb=likely)
        return Note(f"ram_speed_{self.kind}", gb=likely, low=low, high=high)


_KINDS = {
    # DDR4-2666 to DDR5-6400 in two channels
    "desktop": (70 * GB, 42.7 * GB, 102.4 * GB),
    # four channels of DDR4-3200 to eight of DDR5-4800
    "workstation": (180 * GB, 102.4 * GB, 307.2 * GB),
    # eight channels of DDR4-3200 to twelve of DDR5-5600
    "server": (330 * GB, 204.8 * GB, 537.6 * GB),
}
"""Likely, low and high bytes a second; likely values are geometric means of the ends, rounded."""


def system_memory(machine: Machine) -> SystemMemory:
    """The system memory of a machine: what the request states of it, else that of its kind."""
    if machine.ram_bytes_per_second is not None:
        return SystemMemory("stated", machine.ram_bytes_per_second, _STATED)
    kind = _kind(machine)
    likely, low, high = _KINDS[kind]
    return SystemMemory(kind, likely, RateBand(low / likely, high / likely))


def _kind(machine: Machine) -> str:
    """By its devices and by how much memory there is."""
    professional = [gpu for gpu in machine.gpus if gpu.segment in ("datacenter", "workstation")]
    ram = machine.ram_bytes or 0
    on_boards = any(not gpu.form_factor.startswith("PCIe") for gpu in professional)
    if on_boards or ram > _WORKSTATION_BYTES:
        return "server"
    if professional or len(machine.gpus) > 2 or ram > _DESKTOP_BYTES:
        return "workstation"
    return "desktop"
