"""System memory under WSL 2, which lends its virtual machine half of the computer's by default."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB

_WORD = re.compile(
    r"[\s,;+(]*(?:\b(?:in|on|under|inside|no|sob)\s+)?\bwsl\s?-?2?\b\)?", re.IGNORECASE
)
_BETWEEN = " ,;+，、"
_MEMORY = re.compile(
    r"(?<![\d.])(?P<gb>\d{1,5}(?:\.\d{1,3})?)(?P<unit>\s?(?:gb|gib|g)\s?(?:of\s)?(?:system\s)?"
    r"(?:ram\b|memory\b|memória\b|ddr\d\b|内存))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WslMachine:
    """A machine in words with the memory that WSL has, and the note that says so."""

    text: str
    note: Note


def within_wsl(text: str) -> WslMachine | None:
    """Return a machine with half of its stated memory, None if WSL or memory is not named.

    >>> within_wsl("3060 + 64 GB RAM, WSL2").text
    '3060 + 32 GB RAM'
    """
    # Microsoft's "Advanced settings configuration in WSL": `memory` of .wslconfig is 50 % of the
    # total memory on Windows unless it is set.
    if not _WORD.search(text):
        return None
    plain = _WORD.sub(" ", text).strip(_BETWEEN)
    stated = [float(match["gb"]) for match in _MEMORY.finditer(plain)]
    if not stated:
        return None
    halved = _MEMORY.sub(lambda match: f"{float(match['gb']) / 2:g}{match['unit']}", plain)
    whole = round(sum(stated) * GIB)
    return WslMachine(halved, Note("wsl_memory", ram_bytes=whole // 2, whole_bytes=whole))
