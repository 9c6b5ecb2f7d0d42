"""Output of Linux: `lspci`, `/proc/meminfo` and `free`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.gpus.reports.found import MOST_CARDS, FoundCard, FoundMachine, amount_bytes

_DEVICE = re.compile(
    r"(?:VGA compatible controller|3D controller|Display controller|Processing accelerators)"
    r"[^:\n]{0,20}: ([^\n]{3,200})"
)
_BRACKETS = re.compile(r"\[([^\]]{3,100})\]")
_ENDING = re.compile(r"\s*\((?:rev|prog-if)[^)]{0,40}\)|\s*\[[0-9a-f]{4}:[0-9a-f]{4}\]")
_MAKERS = {"NVIDIA": "NVIDIA", "Advanced Micro Devices": "AMD", "Intel": "Intel"}
_AMD_PREFIX = "[AMD/ATI]"
_FREE = re.compile(r"^\s*(?:Mem|Speicher|Memória|内存)[.:]\s+(\d[\d.,]{0,15} ?[KMGT]?i?B?)\s", re.M)
_MEM_TOTAL = re.compile(r"MemTotal:\s{0,30}(\d{1,12}) ?kB")
_FEWEST_BYTES, _FEWEST_KIB, _FEWEST_MIB = 4_000_000_000, 500_000, 256


@dataclass(frozen=True, slots=True)
class Lspci:
    """Reader of `lspci`, whole or its lines of graphics. It knows no memory."""

    program: str = "lspci"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by the name in brackets, which comes from the PCI database."""
        devices = _DEVICE.findall(text)[:MOST_CARDS]
        if not devices:
            return None
        cards, others, notes = [], [], []
        for device in devices:
            plain = _ENDING.sub("", device)
            maker = next((maker for word, maker in _MAKERS.items() if word in plain), "")
            names = _BRACKETS.findall(plain.replace(_AMD_PREFIX, ""))
            name = names[-1] if names else plain
            if plain.startswith("Microsoft"):
                notes.append(Note("report_wsl"))
            if maker:
                cards.append(FoundCard(name, maker))
            else:
                others.append(plain[:60])
        return FoundMachine(tuple(cards), left_out=tuple(others), notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class MemInfo:
    """Reader of `/proc/meminfo`."""

    program: str = "/proc/meminfo"

    def read(self, text: str) -> FoundMachine | None:
        """Return system memory without the kernel's own part."""
        match = _MEM_TOTAL.search(text)
        return None if match is None else FoundMachine(ram_bytes=amount_bytes(match[1], "kib"))


@dataclass(frozen=True, slots=True)
class Free:
    """Reader of `free` in any unit."""

    program: str = "free"

    def read(self, text: str) -> FoundMachine | None:
        """Return system memory.

        The size of a bare number shows its unit, as a machine has 256 MiB to 4 TB.
        """
        match = _FREE.search(text)
        if match is None or not re.search(r"\bavailable\b|buff|Swap", text):
            return None
        written = match[1].strip()
        if not written.isdecimal():
            return FoundMachine(ram_bytes=amount_bytes(written))
        number = int(written)
        unit = "gib"
        for fewest, name in ((_FEWEST_BYTES, "b"), (_FEWEST_KIB, "kib"), (_FEWEST_MIB, "mib")):
            if number >= fewest:
                unit = name
                break
        total = amount_bytes(written, unit)
        return FoundMachine(
            ram_bytes=total, notes=(Note("report_unit", number=number, total_bytes=total or 0),)
        )
