"""Output of macOS: `system_profiler` (hardware and displays) and `sysctl`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.gpus.reports.found import FoundCard, FoundMachine, amount_bytes, pairs

_CHIP = re.compile(r"(?:Apple )?M\d(?: (?:Pro|Max|Ultra))?|Apple A\d{2} Pro")
_QUOTED = re.compile(r'[",]')
_KEYS = {
    "chip": "chip",
    "chip_type": "chip",
    "machdep.cpu.brand_string": "chip",
    "chipset model": "gpu",
    "sppci_model": "gpu",
    "memory": "memory",
    "physical_memory": "memory",
    "hw.memsize": "memory",
    "vram (total)": "vram",
    "vram (dynamic, max)": "none",
    "spdisplays_vram": "vram",
}


@dataclass(frozen=True, slots=True)
class SystemProfiler:
    """Reader of SPHardwareDataType and SPDisplaysDataType, and of `sysctl` lines for the same."""

    program: str = "system_profiler"

    def read(self, text: str) -> FoundMachine | None:
        """Return the chip with the memory that CPU and GPU share; the cards of an Intel Mac."""
        folded = text.casefold()
        signs = ("chipset model", "hardware overview", "sppci_model", "chip_type", "hw.memsize")
        if not any(sign in folded for sign in signs):
            return None
        chip, memory, cards, cores = "", None, list[FoundCard](), None
        in_display = False
        for raw, value in pairs(_QUOTED.sub(" ", text)):
            kind = _KEYS.get(raw, raw)
            if kind == "chip" and _CHIP.fullmatch(value):
                chip = value
            elif kind == "gpu":
                in_display = True
                cards.append(FoundCard(value))
                chip = chip or (value if _CHIP.fullmatch(value) else "")
            elif kind == "memory":
                memory = amount_bytes(value) or memory
            elif kind == "vram" and cards:
                cards[-1] = FoundCard(cards[-1].name, "", amount_bytes(value))
            elif kind in ("total number of cores", "sppci_cores") and in_display:
                digits = re.match(r"\d{1,3}", value)
                cores = int(digits[0]) if digits else cores
        if chip:
            return FoundMachine((FoundCard(chip, "Apple", memory, cores=cores),))
        return FoundMachine(tuple(cards), memory)
