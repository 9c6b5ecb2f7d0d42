"""Facts that a report states, and what reads one."""

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
    """One card that a report names.

    Attributes:
        name: as the report writes it, "" where it has none.
        maker: "NVIDIA", "AMD", "Intel", "Apple" or "".
        total_bytes: memory of the device, None where the report has none.
        used_bytes: what of it is in use, None where the report has none.
        mig: profile of a MIG instance, "?" where its memory alone is stated, "" for a whole card.
        cores: GPU cores of a Mac's chip, None where the report has none.
    """

    name: str
    maker: str = ""
    total_bytes: int | None = None
    used_bytes: int | None = None
    mig: str = ""
    cores: int | None = None


@dataclass(frozen=True, slots=True)
class FoundMachine:
    """Facts of one report. `left_out` are names of what it lists and no engine here uses."""

    cards: tuple[FoundCard, ...] = ()
    ram_bytes: int | None = None
    driver: str = ""
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


class ReportFormat(Protocol):
    """Reader of the output of one program."""

    @property
    def program(self) -> str:
        """The program, as people call it."""
        ...

    def read(self, text: str) -> FoundMachine | None:
        """Facts of a text, None for one that this program did not print. Never raises."""
        ...


def cleaned(text: str) -> str:
    """A text in bounds, without control characters, and with the lines that it had."""
    plain = _ESCAPES.sub("", text[:MAX_CHARS]).strip()
    if "\n" not in plain:
        plain = _BEGINNINGS.sub("\n", plain)
    lines = plain.splitlines()[:MAX_LINES]
    return "\n".join(
        "".join(c if c.isprintable() else " " for c in line[:MAX_LINE_CHARS]).rstrip()
        for line in lines
    )


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Keys, in small letters, and values of lines such as "Product Name : Tesla T4"."""
    for line in text.split("\n"):
        key, sign, value = line.partition(":")
        if sign:
            yield " ".join(key.casefold().split()), value.strip()


def amount_bytes(text: str, unit: str = "") -> int | None:
    """Bytes of the first amount in a text; `unit` is that of a bare number. None for no amount and
    for one beyond belief. Programs write binary units, whatever they call them.

    >>> amount_bytes("24564 MiB"), amount_bytes("62Gi"), amount_bytes("N/A")
    (25757220864, 66571993088, None)
    """
    match = _AMOUNT.search(text)
    if match is None:
        return None
    number = float(re.sub(r"[,.](?=\d{3}(?:\D|$))", "", match[1]).replace(",", "."))
    amount = round(number * _UNITS[(match[2] or unit).casefold()])
    return amount if 0 <= amount <= _MOST_BYTES else None
