"""Output of Intel's `xpu-smi discovery`. Format: the user guide of XPU Manager."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.gpus.reports.found import MOST_CARDS, FoundCard, FoundMachine, amount_bytes

_FIELD = re.compile(r"(Device Name|Memory Physical Size|Driver Version)\s*:\s*([^|\n]{1,100})")


@dataclass(frozen=True, slots=True)
class XpuSmi:
    """Reader of `xpu-smi discovery`, with -d or without."""

    program: str = "xpu-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by their device name."""
        if "Device Name" not in text or "Intel" not in text:
            return None
        cards: list[FoundCard] = []
        driver = ""
        for key, value in _FIELD.findall(text):
            if key == "Device Name":
                cards.append(FoundCard(value.strip(), "Intel"))
            elif key == "Driver Version":
                driver = value.strip()[:20]
            elif cards:
                last = cards[-1]
                cards[-1] = FoundCard(last.name, "Intel", amount_bytes(value, "mib"))
        return FoundMachine(tuple(cards[:MOST_CARDS]), driver=driver)
