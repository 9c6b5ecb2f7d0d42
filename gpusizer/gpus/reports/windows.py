"""Output of Windows: `Get-CimInstance` and `wmic` for cards and memory, `systeminfo`, DxDiag.

Win32_VideoController.AdapterRAM is a 32-bit number (learn.microsoft.com, its documentation): for a
card with 4 GB and more it states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB
from gpusizer.gpus.reports.found import MOST_CARDS, FoundCard, FoundMachine, amount_bytes, pairs

_MOST_ADAPTER_BYTES = 4 * GIB - 64 * 2**20
_CARD = re.compile(
    r"(?:NVIDIA|AMD|Intel\(R\)|Radeon|GeForce|Quadro|Tesla)\b[\w()./ +-]{2,60}?"
    r"(?=\s{2,}|\s+\d{7,}|\s*$)"
)
_PHYSICAL = re.compile(
    r"(?:TotalPhysicalMemory|Total Physical Memory|Gesamter physischer Speicher|物理内存总量)"
    r"[\s:=-]{1,60}([\d.,]{1,20} ?[KMG]?B?)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\s*(\w{2,40})\s*[:=](.*)")
_NAMES = ("Name", "Caption", "Description")
_MAKERS = {"nvidia": "NVIDIA", "geforce": "NVIDIA", "quadro": "NVIDIA", "tesla": "NVIDIA"} | {
    "amd": "AMD",
    "radeon": "AMD",
    "intel": "Intel",
}


@dataclass(frozen=True, slots=True)
class VideoController:
    """Reader of Win32_VideoController, from `Get-CimInstance` as list or table, and from `wmic`."""

    program: str = "Win32_VideoController"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by name, with their memory if 32 bits hold it."""
        if "AdapterRAM" not in text and "Win32_VideoController" not in text:
            return None
        cards: list[FoundCard] = []
        driver, adapter = "", None
        for line in text.split("\n"):
            match = _PAIR.match(line)
            key, value = (match[1], match[2].strip()) if match else ("", "")
            named = _CARD.search(line) if match is None else None
            if key == "AdapterRAM":
                adapter = amount_bytes(value)
            elif key == "DriverVersion":
                driver = value[:20]
            elif key in _NAMES and value and (key == "Name" or not _has(cards, value)):
                cards.append(FoundCard(value, _maker(value)))
            elif named:
                cards.append(FoundCard(named[0].strip(), _maker(named[0])))
        if len(cards) == 1 and adapter and adapter < _MOST_ADAPTER_BYTES:
            cards = [FoundCard(cards[0].name, cards[0].maker, adapter)]
        notes = (Note("report_windows"),) if cards else ()
        return FoundMachine(tuple(cards[:MOST_CARDS]), driver=driver, notes=notes)


@dataclass(frozen=True, slots=True)
class PhysicalMemory:
    """Reader of system memory in Win32_ComputerSystem and `systeminfo`."""

    program: str = "Win32_ComputerSystem"

    def read(self, text: str) -> FoundMachine | None:
        """Return system memory; a bare number counts bytes."""
        match = _PHYSICAL.search(text)
        return None if match is None else FoundMachine(ram_bytes=amount_bytes(match[1]))


@dataclass(frozen=True, slots=True)
class DxDiag:
    """Reader of the lines of DxDiag."""

    program: str = "DxDiag"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by name with their dedicated memory, and system memory."""
        if not re.search(r"Card name\s*:|Dedicated Memory\s*:", text, re.IGNORECASE):
            return None
        cards: list[FoundCard] = []
        ram: int | None = None
        for key, value in pairs(text):
            if key == "card name":
                cards.append(FoundCard(value, _maker(value)))
            elif key == "dedicated memory" and cards:
                amount = amount_bytes(value, "mb")
                cards[-1] = FoundCard(cards[-1].name, cards[-1].maker, amount or None)
            elif key == "memory":
                ram = amount_bytes(value, "mb")
        distinct = tuple(dict.fromkeys(cards))  # one for each display of a card
        notes = (Note("report_windows"),) if distinct else ()
        return FoundMachine(distinct[:MOST_CARDS], ram, notes=notes)


def _has(cards: Sequence[FoundCard], name: str) -> bool:
    return any(card.name == name for card in cards)


def _maker(name: str) -> str:
    folded = name.casefold()
    return next((maker for word, maker in _MAKERS.items() if word in folded), "")
