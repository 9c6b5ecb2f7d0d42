"""Machines that pasted reports describe, in the words that request fields accept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.printable import printable
from gpusizer.core.units import GIB, MIB
from gpusizer.gpus.catalogue import Catalogue
from gpusizer.gpus.reports.amd import AmdSmi, AmdTable, RocmSmi
from gpusizer.gpus.reports.apple import SystemProfiler
from gpusizer.gpus.reports.found import (
    MAX_CHARS,
    MAX_LINES,
    FoundCard,
    FoundMachine,
    ReportFormat,
    cleaned,
)
from gpusizer.gpus.reports.intel import XpuSmi
from gpusizer.gpus.reports.linux import Free, Lspci, MemInfo
from gpusizer.gpus.reports.named_cards import ResolvedCard, resolved
from gpusizer.gpus.reports.nvidia import NvidiaCsv, NvidiaList, NvidiaQuery, NvidiaTable
from gpusizer.gpus.reports.windows import DxDiag, PhysicalMemory, VideoController
from gpusizer.gpus.table import read_gpus

# Formats by how much they state of a card: if two list one maker's cards, the first counts.
FORMATS: Sequence[ReportFormat] = (
    NvidiaTable(),
    NvidiaQuery(),
    NvidiaCsv(),
    NvidiaList(),
    RocmSmi(),
    AmdTable(),
    AmdSmi(),
    XpuSmi(),
    SystemProfiler(),
    DxDiag(),
    VideoController(),
    Lspci(),
    MemInfo(),
    Free(),
    PhysicalMemory(),
)

_SIGNS = re.compile(
    r"NVIDIA-SMI|Product Name|MiB|UUID|Card Series|VRAM|MARKET_NAME|KFD_ID|AMD-?SMI|ROCm"
    r"|Device Name|Chipset Model|Hardware Overview|sppci|chip_type|hw\.memsize|Card name"
    r"|Dedicated Memory|AdapterRAM|Win32_|compatible controller|3D controller|Display controller"
    r"|Processing accelerators|MemTotal|Mem:|Physical ?Memory|physischer|物理内存"
    r"|memory\.total",
    re.IGNORECASE,
)

# bytes in use on a card without any program: fewer are the driver's own
_LEAST_USED_BYTES = 48 * MIB
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class MachineReport:
    """A machine that reports describe."""

    text: str  # the machine, as `machine_words` reads it
    cards: int  # number of devices in it
    programs: tuple[str, ...]  # programs whose output was read
    notes: tuple[Note, ...]  # notes on what was read and what was not


def may_be_report(text: str) -> bool:
    """Return whether a text has a word of a report; most names of machines have none."""
    return _SIGNS.search(text[:MAX_CHARS]) is not None


def read_reports(text: str, catalogue: Catalogue | None = None) -> MachineReport | None:
    """Return the machine that a pasted text describes, or None if no program printed it.

    Cards are looked up in `catalogue`, by default that of `data/gpus.csv`. Raises InvalidRequest
    for output of a program without a card or an amount of memory.
    """
    if not may_be_report(text):
        return None
    plain = cleaned(text)
    read = [(form.program, found) for form in FORMATS if (found := form.read(plain)) is not None]
    if not read:
        return None
    programs = tuple(program for program, _ in read)
    cards = _best_cards([found for _, found in read])
    ram = next((found.ram_bytes for _, found in read if found.ram_bytes), None)
    found_cards = [resolved(card, ram, catalogue or _listed()) for card in cards]
    notes = tuple(dict.fromkeys(_notes([found for _, found in read], found_cards)))
    machine = _machine(found_cards, ram)
    if not machine:
        value = printable(" ".join(plain.split())[:_MOST_SHOWN])
        names = ", ".join(programs)
        raise InvalidRequest(field="gpu", value=value, reason="report_without_machine", names=names)
    cut = len(text) > MAX_CHARS or text.count("\n") > MAX_LINES
    first = Note("report_read", programs=", ".join(programs), machine=machine)
    last = (Note("report_cut", characters=MAX_CHARS),) if cut else ()
    count = sum(1 for card in found_cards if card.name)
    return MachineReport(machine, count, programs, (first, *notes, *last))


def _best_cards(read: Sequence[FoundMachine]) -> Iterable[FoundCard]:
    # For each maker the report with the most detail, the first of equal ones.
    cards: dict[str, Sequence[FoundCard]] = {}
    for found in read:
        makers = dict.fromkeys(card.maker for card in found.cards)
        for maker in makers:
            own = [card for card in found.cards if card.maker == maker]
            if maker not in cards or _told(own) > _told(cards[maker]):
                cards[maker] = own
    known = {card.name for maker, own in cards.items() if maker for card in own}
    return (card for maker, own in cards.items() for card in own if maker or card.name not in known)


def _told(cards: Sequence[FoundCard]) -> tuple[bool, bool, bool, bool]:
    # Detail of a report: instances, whole names, memory, memory in use.
    return (
        any(card.mig for card in cards),
        not any(card.name.endswith("...") for card in cards),
        all(card.total_bytes for card in cards),
        all(card.used_bytes is not None for card in cards),
    )


def _machine(cards: Sequence[ResolvedCard], ram_bytes: int | None) -> str:
    # Equal cards with their number, then memory that is not shared.
    used = [card for card in cards if card.name]
    counts = Counter(map(_card_text, used))
    parts = [text if count == 1 else f"{count}x {text}" for text, count in counts.items()]
    if ram_bytes and not (used and all(card.shares_memory for card in used)):
        parts.append(f"{ram_bytes / GIB:.4g} GB RAM")
    return " + ".join(parts)


def _card_text(card: ResolvedCard) -> str:
    used = card.used_bytes or 0
    if used < _LEAST_USED_BYTES or card.shares_memory:
        return card.name
    return f"{card.name} ({round(used / MIB)} MiB used)"


def _notes(read: Sequence[FoundMachine], cards: Sequence[ResolvedCard]) -> Iterable[Note]:
    driver = next((found.driver for found in read if found.driver), "")
    if driver:
        yield Note("report_driver", driver=printable(driver))
    for found in read:
        yield from found.notes
    for card in cards:
        yield from card.notes
    others = [name for found in read for name in found.left_out]
    others += [card.left_out for card in cards if card.left_out]
    if others:
        names = ", ".join(dict.fromkeys(printable(name[:_MOST_SHOWN]) for name in others[:8]))
        yield Note("report_left_out", names=names)


@cache
def _listed() -> Catalogue:
    # Without prices, which no report needs.
    return Catalogue(read_gpus(DATA_DIR / "gpus.csv", DATA_DIR / "gpu_aliases.csv"))
