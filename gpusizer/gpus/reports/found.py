"""Facts that a report states, and the interface of report readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB, MIB

MAX_CHARS = 200_000
MAX_LINES = 4_000
MAX_LINE_CHARS = 20_000
MOST_CARDS = 64
_MOST_BYTES = 64 * 1024 * GIB

_UNITS = {
    "b": 1,
    "": 1,
    "kb": 1024,
    "kib": 1024,
    "k": 1024,
    "ki": 1024,
    "mb": MIB,
    "mib": MIB,
    "m": MIB,
    "mi": MIB,
    "gb": GIB,
    "gib": GIB,
    "g": GIB,
    "gi": GIB,
    "tb": 1024 * GIB,
    "tib": 1024 * GIB,
    "t": 1024 * GIB,
    "ti": 1024 * GIB,
}
AMOUNT = r"(\d{1,16}(?:[.,]\d{1,3})*) ?([KMGT]?i?B?)\b"
_AMOUNT = re.compile(AMOUNT, re.IGNORECASE)
# Words that begin a line of a report: a field of one line joins the lines of what is pasted.
_BEGINNINGS = re.compile(
    r"(?<![:,|]) +(?=(?:(?:\d{1,2}, )?NVIDIA (?!Corporation|Corp)|Tesla |Quadro |GPU\[\d|GPU \d"
    r"|GPU: \d|card\d{1,2},|device,|MIG \d|Product (?:Name|Brand|Arch)|FB Memory Usage|BAR1 Memory"
    r"|MIG Device|Index +:"
    r"|Display Active|Reserved +:|(?:Total|Used|Free) +:|ASIC:|MARKET_NAME|VENDOR_ID|NUM_COMPUTE"
    r"|TARGET_GRAPHICS|VRAM:|TYPE:|SIZE:|MEM_USAGE:|(?:TOTAL|USED|FREE)_VRAM|Mem:|Swap:|MemTotal"
    r"|MemFree|MemAvailable|Chipset Model|Chip:|Total Number of Cores|Serial Number|Type:"
    r"|hw\.memsize|AdapterRAM|DriverVersion +:|TotalPhysicalMemory|Total Physical Memory"
    r"|Card name|Manufacturer:|Display Memory:|Dedicated Memory|Shared Memory|Available OS"
    r"|[0-9a-f]{2}:[0-9a-f]{2}\.\d [A-Z]))"
    r"|(?<!Physical)(?<!Display)(?<!Dedicated)(?<!Shared)(?<!OS)(?<!Card)(?<!Product)(?<!Device)"
    r"(?<!Model) +(?=Memory:|Vendor:|Name +:)"
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


@dataclass(frozen=True, slots=True)
class FoundCard:
    """One card that a report names."""

    name: str  # as the report writes it, or ""
    maker: str = ""  # "NVIDIA", "AMD", "Intel", "Apple" or ""
    total_bytes: int | None = None  # memory of the device, or None
    used_bytes: int | None = None  # memory in use, or None
    # profile of a MIG instance, "?" if only its memory is stated, "" for a whole card
    mig: str = ""
    cores: int | None = None  # GPU cores of a Mac's chip, or None


@dataclass(frozen=True, slots=True)
class FoundMachine:
    """Facts of one report."""

    cards: tuple[FoundCard, ...] = ()
    ram_bytes: int | None = None
    driver: str = ""
    left_out: tuple[str, ...] = ()  # names of listed devices that no engine here uses
    notes: tuple[Note, ...] = ()


class ReportFormat(Protocol):
    """Reader of the output of one program."""

    @property
    def program(self) -> str:
        """Name of the program, as people call it."""
        ...

    def read(self, text: str) -> FoundMachine | None:
        """Return the facts of a text, or None if this program did not print it. Never raises."""
        ...


def cleaned(text: str) -> str:
    """Return a text cut to the limits, without control characters, with its original lines."""
    plain = _ESCAPES.sub("", text[:MAX_CHARS]).strip()
    if "\n" not in plain:
        plain = _BEGINNINGS.sub("\n", plain)
    lines = plain.splitlines()[:MAX_LINES]
    return "\n".join(
        "".join(c if c.isprintable() else " " for c in line[:MAX_LINE_CHARS]).rstrip()
        for line in lines
    )


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield keys, in small letters, and values of lines such as "Product Name : Tesla T4"."""
    for line in text.split("\n"):
        key, sign, value = line.partition(":")
        if sign:
            yield " ".join(key.casefold().split()), value.strip()


def amount_bytes(text: str, unit: str = "") -> int | None:
    """Return the bytes of the first amount in a text, or None.

    `unit` applies to a bare number. None also for an impossible amount. Programs write binary
    units, whatever they call them.

    >>> amount_bytes("24564 MiB"), amount_bytes("62Gi"), amount_bytes("N/A")
    (25757220864, 66571993088, None)
    """
    match = _AMOUNT.search(text)
    if match is None:
        return None
    number = float(re.sub(r"[,.](?=\d{3}(?:\D|$))", "", match[1]).replace(",", "."))
    amount = round(number * _UNITS[(match[2] or unit).casefold()])
    return amount if 0 <= amount <= _MOST_BYTES else None
